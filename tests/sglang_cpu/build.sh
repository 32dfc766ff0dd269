#!/bin/sh
# Builds the real SGLang for CPU into a cache folder, or finds it there. See README.md.
here=$(cd "$(dirname "$0")" && pwd)
for python in ${PYTHON:-python3.11 /usr/bin/python3.11 python3}; do
  # Run each candidate: a shim can be on PATH and still not work.
  if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    exec "$python" "$here/build.py" "$@"
  fi
done
echo "no Python 3.11 or newer with venv found; set PYTHON=/path/to/python3 (Debian: apt install python3-venv)" >&2
exit 1
