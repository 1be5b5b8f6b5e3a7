"""From a weight file to a checkpoint of this program: the body of scripts/import_checkpoint.py."""

import dataclasses

from object_detection.builders import model_builder
from object_detection.engine import checkpoints
from object_detection.engine.importers import table
from object_detection.utils import config_util


@dataclasses.dataclass(frozen=True)
class Settings:
    """What to convert.

    Attributes:
        input: file to read.
        output: prefix of the checkpoint to write; None: only compare.
        pipeline_config_path: of the model; None: keep all weights, by the names in the file.
        config_overrides: changes to that config.
        exclude: layers to leave out, see `table.load`.
        kind: key of `table.IMPORTERS`; None: found from the file.
    """

    input: str
    output: str | None = None
    pipeline_config_path: str | None = None
    config_overrides: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kind: str | None = None


def run(settings: Settings) -> str:
    """Converts or compares, and returns a report.

    The checkpoint holds what fits the model, and nothing else, so that training from it reports
    what it starts at random.

    Raises:
        ValueError: if the settings do not go together or a file cannot be used.
    """
    if settings.kind is not None and settings.kind not in table.IMPORTERS:
        raise ValueError(f"kind: choose one of {sorted(table.IMPORTERS)}, got {settings.kind!r}")
    if settings.pipeline_config_path is None:
        if settings.output is None:
            raise ValueError("give an output to write, or a pipeline config to compare with")
        values = table.read(settings.input, None, settings.kind)
        kept = {name: value for name, value in values.items()
                if not table.is_excluded(name, settings.exclude)}
        report = f"{settings.input}: {len(kept)} of {len(values)} weights kept"
        if not kept:
            raise checkpoints.CheckpointError(f"{report}; exclude fewer layers")
    else:
        pipeline = config_util.load_pipeline(settings.pipeline_config_path,
                                             settings.config_overrides)
        model = model_builder.build(pipeline.model, is_training=False)
        loaded = table.load(model, settings.input, settings.exclude, settings.kind)
        variables = model.variables_by_name
        kept = {name: variables[name].numpy() for name in loaded.restored}
        report = str(loaded)
    if settings.output is None:
        return report
    checkpoints.write(settings.output, kept)
    return f"{report}\nWritten to {settings.output}"
