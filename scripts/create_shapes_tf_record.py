"""Makes a small data set of coloured shapes with boxes and masks, to try training at once.

Example:

    python scripts/create_shapes_tf_record.py --output_dir=shapes --num_train=500 --num_val=100

writes shapes/train.record, shapes/val.record, shapes/label_map.pbtxt, and a few pictures in
shapes/samples (as they are) and shapes/samples_labelled (with what they show).
The classes are circle, square, triangle and star.
"""

import json
from collections.abc import Sequence

from absl import flags

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_string("output_dir", None, "Folder to write to; made if absent.", required=True)
flags.DEFINE_integer("num_train", 500, "Number of training images.", lower_bound=0)
flags.DEFINE_integer("num_val", 100, "Number of validation images.", lower_bound=0)
flags.DEFINE_integer("image_size", 160, "Side of the square images, in pixels.", lower_bound=32)
flags.DEFINE_integer("seed", 0, "The same seed gives the same files.", lower_bound=0)


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    del argv  # there is nothing but flags
    from object_detection.dataset_tools import shapes
    counts = shapes.write_dataset(FLAGS.output_dir, FLAGS.num_train, FLAGS.num_val, FLAGS.seed,
                                  shapes.ShapesSettings(image_size=FLAGS.image_size))
    print(json.dumps(counts, sort_keys=True))


if __name__ == "__main__":
    startup.run_command(main)
