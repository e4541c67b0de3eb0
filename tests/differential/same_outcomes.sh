#!/usr/bin/env bash
# same_outcomes.sh RUN_SEEDS SEED...: plays the calls of the seeds on the software device and then on the device of
# VERBENA_TEST_ADDRESS (again the software device, if there is none), and compares what came of each.
set -uo pipefail
lines="$(mktemp -d)"
trap 'rm -rf "$lines"' EXIT
# play FILE COMMAND...
play() {
  "${@:2}" >"$lines/$1" && return
  echo "run_seeds ended with status $? on $1, having said at the end, and of what must not be:"
  tail "$lines/$1"
  grep UNEXPECTED "$lines/$1"
  exit 1
}
play soft env -u VERBENA_TEST_ADDRESS VERBENA_DEVICE=soft "$@"
play other "$@"
diff "$lines/soft" "$lines/other" && echo "$(wc -l <"$lines/soft") outcomes, all the same"
