#!/usr/bin/env bash
# same_outcomes.sh RUN_SEEDS RECORDED SEED...: plays the calls of the seeds on the device of VERBENA_TEST_ADDRESS (the
# software device, if there is none), and compares what came of each with what is recorded: the same for all devices.
# Where other calls are planned than before it is recorded anew, with
#
#   cd bazel-bin/tests/differential/run_seeds.runfiles/verbena && tests/differential/run_seeds SEED... >RECORDED
set -uo pipefail
outcomes="$(mktemp)"
trap 'rm -f "$outcomes"' EXIT
run_seeds="$1" recorded="$2"
shift 2
if ! "$run_seeds" "$@" >"$outcomes"; then
  echo "run_seeds failed, having said at the end, and of what must not be:"
  tail "$outcomes"
  grep UNEXPECTED "$outcomes"
  exit 1
fi
diff "$recorded" "$outcomes" && echo "$(wc -l <"$outcomes") outcomes, all as recorded"
