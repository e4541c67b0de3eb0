#!/usr/bin/env bash
# Runs a Python program of this directory where it really lies, which is the repository and not Bazel's copy of it: the
# style checks read every source there is. The first argument is the program's path from here.
set -euo pipefail
here="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$here/$1" "${@:2}"
