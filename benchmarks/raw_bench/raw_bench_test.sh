#!/usr/bin/env bash
# Bazel 4's own py_test wants a Python toolchain; this runs the one there is.
exec python3 "$@"
