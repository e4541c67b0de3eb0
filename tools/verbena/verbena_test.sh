#!/usr/bin/env bash
# The `verbena` command as a user runs it, between two processes on the software device, or on the one that
# $VERBENA_TEST_ADDRESS leads to (tests/soft_roce).
#
# Usage: verbena_test.sh VERBENA
set -euo pipefail

verbena=$1
source examples/daemon/daemon_test.sh

start_daemon "$work" "$verbena" check-server
"$verbena" check "$address" >"$work/output" || fail "check: $(cat "$work/output")"
(($(grep -c '^ok ' "$work/output") == 6)) || fail "kinds of calls: $(cat "$work/output")"
grep -q '^channel: .*connected' "$work/output" || fail "the channel's words: $(cat "$work/output")"
stop_daemon verbena "$pid"

if "$verbena" check "$address" >"$work/output"; then fail "a check without a server went well"; fi
grep -q '^FAILED  connection: UNAVAILABLE' "$work/output" || fail "words for a missing server: $(cat "$work/output")"
if "$verbena" check nonsense 2>"$work/errors"; then fail "a nonsensical address was taken"; fi
[[ -s $work/errors ]] || fail "no words for a nonsensical address"
for arguments in "" "chekc" "check" "check a b" "check-server a"; do
  status=0
  # shellcheck disable=SC2086
  "$verbena" $arguments 2>"$work/errors" || status=$?
  ((status == 2)) || fail "status of 'verbena $arguments': $status"
  grep -q 'verbena check ADDRESS' "$work/errors" || fail "usage for 'verbena $arguments': $(cat "$work/errors")"
done
echo PASSED
