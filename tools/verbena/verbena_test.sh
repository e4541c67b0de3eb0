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

[[ $("$verbena" health "$address") == SERVING ]] || fail "health of the server"
[[ $("$verbena" health "$address" verbena.check.Check) == SERVING ]] || fail "health of a service"
if "$verbena" health "$address" none.Such 2>"$work/errors"; then fail "an unknown service is well"; fi
grep -q '^verbena: NOT_FOUND: .*none.Such' "$work/errors" || fail "words for an unknown service: $(cat "$work/errors")"
services=(verbena.check.Check grpc.health.v1.Health grpc.reflection.v1.ServerReflection)
[[ $("$verbena" list "$address") == "$(printf '%s\n' "${services[@]}")" ]] || fail "list of services"
methods=(verbena.check.Check/{Echo,Take,Give,Hold})
[[ $("$verbena" list "$address" verbena.check.Check) == "$(printf '%s\n' "${methods[@]}")" ]] || fail "list of methods"
"$verbena" describe "$address" verbena.check.Pattern >"$work/output" || fail "describe"
grep -q '^  uint64 seed = 1;$' "$work/output" || fail "description: $(cat "$work/output")"
"$verbena" call --metadata=key:value "$address" verbena.check.Check/Echo '{"payload": "aGVsbG8="}' >"$work/output" ||
  fail "call"
grep -q '"payload": "aGVsbG8="' "$work/output" || fail "reply: $(cat "$work/output")"
for command in "check $address" "list $address" "call $address verbena.check.Check/Echo {}"; do
  # shellcheck disable=SC2086
  if "$verbena" $command >/dev/full 2>"$work/errors"; then fail "'verbena $command' has lost what it printed, and went well"; fi
  grep -q '^verbena: DATA_LOSS: standard output' "$work/errors" || fail "words for a full disk: $(cat "$work/errors")"
done
if "$verbena" call --timeout_seconds=0.1 "$address" verbena.check.Check/Hold '{}' 2>"$work/errors"; then
  fail "a call that is held went well"
fi
grep -q '^verbena: DEADLINE_EXCEEDED' "$work/errors" || fail "words for a deadline: $(cat "$work/errors")"
stop_daemon verbena "$pid"

if "$verbena" health "$address" 2>"$work/errors"; then fail "a missing server is well"; fi
grep -q '^verbena: UNAVAILABLE' "$work/errors" || fail "words for a missing server: $(cat "$work/errors")"
if "$verbena" check "$address" >"$work/output"; then fail "a check without a server went well"; fi
grep -q '^FAILED  connection: UNAVAILABLE' "$work/output" || fail "words for a missing server: $(cat "$work/output")"
if "$verbena" check nonsense 2>"$work/errors"; then fail "a nonsensical address was taken"; fi
[[ -s $work/errors ]] || fail "no words for a nonsensical address"
if "$verbena" check --device=nope "$address" >"$work/output" 2>"$work/errors"; then
  fail "a device that is not there was taken"
fi
grep -Eq '^verbena: (NOT_FOUND|INVALID_ARGUMENT): .*nope' "$work/errors" ||
  fail "words for a missing device: $(cat "$work/errors")"
for arguments in "" "chekc" "check" "check a b" "check-server a" "health" "list" "describe a" "call a b"; do
  status=0
  # shellcheck disable=SC2086
  "$verbena" $arguments 2>"$work/errors" || status=$?
  ((status == 2)) || fail "status of 'verbena $arguments': $status"
  grep -q 'verbena check ADDRESS' "$work/errors" || fail "usage for 'verbena $arguments': $(cat "$work/errors")"
done
echo PASSED
