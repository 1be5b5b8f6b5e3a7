"""Message modules (`*_pb2`), generated from the top-level `protos/` when the package is installed.

In a source checkout the modules can fall behind their sources, after a pull for example. That shows
up here, at import, and not as a missing attribute somewhere later.
"""

import hashlib
import json
import pathlib


def _check_fresh(package: pathlib.Path) -> None:
    """Raises ImportError if the modules are absent, or older than the sources beside them."""
    sources = package.parents[1] / "protos"
    in_checkout = (sources / "pipeline.proto").is_file() and (
        package.parents[1] / "setup.py").is_file()
    remedy = ("in the checkout run `python -m pip install -e .`, or, with grpcio-tools installed, "
              "`python setup.py build_protos`")
    record = package / "sources.json"
    if not record.is_file():
        raise ImportError(f"{package}: the message modules (*_pb2.py) are not generated; {remedy}")
    if not in_checkout:
        return
    known = json.loads(record.read_text(encoding="utf-8"))
    present = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
               for path in sources.glob("*.proto")}
    changed = sorted(name for name in known.keys() | present.keys()
                     if known.get(name) != present.get(name))
    if changed:
        raise ImportError(
            f"{package}: the message modules are older than their sources (protos/{changed[0]}"
            f"{f' and {len(changed) - 1} more' if len(changed) > 1 else ''}); {remedy}")


_check_fresh(pathlib.Path(__file__).resolve().parent)
