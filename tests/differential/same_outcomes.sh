#!/usr/bin/env bash
# same_outcomes.sh RUN_SEEDS RECORDED: plays the calls of the recorded seeds on the device of VERBENA_TEST_ADDRESS (the
# software device, if there is none), and compares what came of each with what is recorded: the same for all devices.
# Where other calls are planned than before it is recorded anew, with
#
#   cd bazel-bin/tests/differential/run_seeds.runfiles/verbena && tests/differential/run_seeds SEED... >RECORDED
set -uo pipefail
outcomes="$(mktemp)"
trap 'rm -f "$outcomes"' EXIT
run_seeds="$1" recorded="$2"
mapfile -t seeds < <(sed -n 's/^seed \([0-9]*\),.*/\1/p' "$recorded" | uniq)
"$run_seeds" "${seeds[@]}" >"$outcomes" || {
  echo "run_seeds ended with status $?, having said at the end, and of what must not be:"
  tail "$outcomes"
  grep UNEXPECTED "$outcomes"
  exit 1
}
diff "$recorded" "$outcomes" && echo "$(wc -l <"$outcomes") outcomes, all as recorded"
