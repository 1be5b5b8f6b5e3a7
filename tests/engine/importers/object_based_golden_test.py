"""A checkpoint with the original's keys, imported, gives the numbers of the fixture."""

import golden_tf2
import pytest

from object_detection.builders import model_builder
from object_detection.engine import fine_tune


@pytest.mark.slow
@pytest.mark.parametrize("case", ["faster_rcnn_resnet50_keras", "faster_rcnn_resnet50_fpn_keras",
                                  "mask_rcnn_inception_resnet_v2_keras"])
def test_an_imported_checkpoint_gives_the_numbers_of_the_original(case, tmp_path):
    golden_tf2.write_checkpoint(case, f"{tmp_path}/checkpoint/ckpt-0")
    model = model_builder.build(golden_tf2.pipeline(case).model, is_training=False)
    report = fine_tune.restore(model, fine_tune.resolve(str(tmp_path)), "full")
    assert len(report.restored) == len(golden_tf2.variables(case))
    assert not report.other_shape and not report.absent
    golden_tf2.check_inference(case, model)
