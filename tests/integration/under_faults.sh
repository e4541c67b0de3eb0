#!/usr/bin/env bash
# under_faults.sh TARGET PROGRAM PLAN...: runs a test program under each fault plan, in which SEED stands for a seed that
# nobody has met before. A failure prints the command that repeats it. Tests of idle processes, which nothing befalls, are
# left out.
set -uo pipefail
target="${1?}"
program="${2?}"
for plan in "${@:3}"; do
  plan="${plan//SEED/$SRANDOM}"
  echo "Under $plan"
  if ! VERBENA_SOFT_FAULTS="$plan" GTEST_FILTER="-*Idle*" "$program"; then
    echo "Again: VERBENA_SOFT_FAULTS='$plan' bazel run $target"
    exit 1
  fi
done
