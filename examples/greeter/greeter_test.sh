#!/usr/bin/env bash
# The greeter's programs as a user runs them: server and client are processes of their own, on the software device
# or on the one that $VERBENA_TEST_ADDRESS leads to (tests/soft_roce).
#
# Usage: greeter_test.sh SERVER CLIENT
set -euo pipefail

server=$1
client=$2
source examples/daemon/daemon_test.sh

for handlers in --nocallback --callback; do
  start_daemon "$work" "$server" "$handlers"
  "$client" --server="$address" --name="Ada" >"$work/output" || fail "client with $handlers"
  grep -qx 'blocking: Hello, Ada!' "$work/output" || fail "blocking greeting with $handlers: $(cat "$work/output")"
  grep -qx 'callback: Hello, Ada!' "$work/output" || fail "callback greeting with $handlers: $(cat "$work/output")"
  grep -q '^path: eager' "$work/output" || fail "path with $handlers: $(cat "$work/output")"

  if "$client" --server="$address" --name="" >/dev/null 2>"$work/errors"; then fail "an empty name was greeted"; fi
  grep -q 'the request has no name' "$work/errors" || fail "words for an empty name: $(cat "$work/errors")"
  stop_daemon greeter_server "$pid"
done

if "$client" --server=127.0.0.1:1 --timeout=300ms >/dev/null 2>"$work/errors"; then fail "nobody answered"; fi
grep -q 'greeter_client: blocking: ' "$work/errors" || fail "words for a missing server: $(cat "$work/errors")"
if "$client" --server=nonsense 2>"$work/errors"; then fail "a nonsensical address was taken"; fi
[[ -s $work/errors ]] || fail "no words for a nonsensical address"
if "$server" --listen=nonsense 2>"$work/errors"; then fail "a nonsensical address was listened on"; fi
grep -q 'greeter_server: cannot start: ' "$work/errors" || fail "words for it: $(cat "$work/errors")"
expect_flags_alone "$server"
expect_flags_alone "$client"
echo PASSED
