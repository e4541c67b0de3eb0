#!/usr/bin/env bash
# with_setting.sh NAME=VALUE PROGRAM: runs a test program with one more variable in its environment.
set -euo pipefail
export "${1?}"
exec "${2?}"
