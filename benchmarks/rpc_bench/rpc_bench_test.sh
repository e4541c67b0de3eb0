#!/usr/bin/env bash
# Bazel 4's own py_test wants a Python toolchain; this runs the one there is.
export PYTHONDONTWRITEBYTECODE=1  # What a program imports lies in the repository.
exec python3 "$@"
