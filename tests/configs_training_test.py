"""Ready configs that train from scratch on the embedded shapes, as their heads say."""

import pathlib

import pytest

from object_detection.dataset_tools import shapes
from object_detection.engine import estimator
from object_detection.engine.run_config import RunConfig
from object_detection.utils import config_util

CONFIGS = pathlib.Path(__file__).resolve().parents[1] / "configs"


@pytest.mark.slow
@pytest.mark.training
def test_mask_rcnn_with_a_pyramid_learns_to_draw_shapes(tmp_path):
    shapes.write_dataset(str(tmp_path), num_train=500, num_val=100)
    pipeline = config_util.load_pipeline(str(CONFIGS / "mask_rcnn_resnet50_fpn_shapes.config"))
    for reader, name in ((pipeline.train_input_reader, "train"), (pipeline.eval_input_reader[0],
                                                                  "val")):
        reader.label_map_path = f"{tmp_path}/label_map.pbtxt"
        reader.tf_record_input_reader.input_path[:] = [f"{tmp_path}/{name}.record"]
    outcome = estimator.train_and_evaluate(
        pipeline, RunConfig(f"{tmp_path}/run", eval_every=10000))
    (metrics,) = outcome.metrics.values()
    assert metrics["DetectionMasks_Precision/mAP@.50IOU"] > 0.8
