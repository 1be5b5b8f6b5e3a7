# Sourced by scripts/demo and scripts/test: makes .venv with the project installed, once.
# PYTHON chooses the interpreter (default: python3); delete .venv to start over.

ensure_venv() {
  local python="${PYTHON:-python3}" stamp="$root/.venv/installed" wanted
  wanted="$(cat "$root/setup.py" "$root/pyproject.toml" "$root"/protos/*.proto | sha256sum)"
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    return
  fi
  if ! "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))'; then
    echo "$0: Python 3.10 to 3.13 is needed, $python is $("$python" -V 2>&1); set PYTHON=..." >&2
    exit 1
  fi
  echo "Installing into .venv (about a minute, once) ..."
  [ -x "$root/.venv/bin/python" ] || "$python" -m venv "$root/.venv" || {
    echo "$0: could not make .venv; on Debian run: apt-get install python3-venv" >&2
    exit 1
  }
  "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check -e "$root[dev]"
  printf '%s' "$wanted" > "$stamp"
}
