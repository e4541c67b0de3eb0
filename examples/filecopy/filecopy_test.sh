#!/usr/bin/env bash
# filecopy's programs as a user runs them: files of many sizes arrive whole, whatever goes wrong has its words, and
# nothing half-received stays behind. On the software device, or on the one that $VERBENA_TEST_ADDRESS leads to
# (tests/soft_roce).
#
# Usage: filecopy_test.sh SERVER CLIENT
set -euo pipefail

server=$1
client=$2
source examples/daemon/daemon_test.sh
incoming=$work/incoming
mkdir "$incoming"

expect_copy() { # size in bytes, flags of the client…
  local size=$1 file=$work/file.$1 sha256
  shift
  head -c "$size" /dev/urandom >"$file"
  "$client" --server="$address" "$@" "$file" >"$work/output" || fail "copying $size bytes with $*"
  cmp "$file" "$incoming/${file##*/}" || fail "$size bytes with $* differ"
  sha256=$(sha256sum <"$file" | cut -d' ' -f1)
  grep -qx "client sha256 $sha256" "$work/output" || fail "client's SHA-256 of $size bytes: $(cat "$work/output")"
  grep -qx "server sha256 $sha256" "$work/output" || fail "server's SHA-256 of $size bytes: $(cat "$work/output")"
}

expect_error() { # words, arguments of the client…
  local words=$1
  shift
  if "$client" --server="$address" "$@" >/dev/null 2>"$work/errors"; then fail "client $* succeeded"; fi
  grep -qF -- "$words" "$work/errors" || fail "client $* said: $(cat "$work/errors")"
}

expect_nothing_partial() {
  local left
  left=$(find "$incoming" -name '.*partial')
  [[ -z $left ]] || fail "left behind: $left"
}

start_daemon "$work" "$server" --directory="$incoming"
expect_copy 0
expect_copy 1
expect_copy 65536 --chunk_bytes=65536
expect_copy 65537 --chunk_bytes=65536 --window=1
expect_copy 20000 --chunk_bytes=100 --window=64
grep -q '^path: eager' "$work/output" || fail "chunks of 100 bytes: $(cat "$work/output")"
expect_copy 20000003 --window=3
grep -q '^path: rendezvous' "$work/output" || fail "chunks of 1 MiB: $(cat "$work/output")"
expect_copy 1 --name=file.1
expect_copy 1000000

echo old >"$work/victim"
expect_error 'is refused: it names a directory' --name=../victim "$work/file.1"
expect_error 'is refused: it begins with a dot' --name=.hidden "$work/file.1"
[[ $(cat "$work/victim") == old ]] || fail "a file outside of the directory was written"
expect_error 'cannot open' "$work/no_such_file"
expect_error 'is a directory' "$work"
expect_error '--window must be at least 1' --window=0 "$work/file.1"
if ((EUID != 0)); then
  install -m 000 "$work/file.1" "$work/unreadable"
  expect_error 'Permission denied' "$work/unreadable"
fi
truncate -s 8E "$work/huge" 2>/dev/null || truncate -s 8T "$work/huge"
expect_error 'cannot reserve' "$work/huge"
expect_nothing_partial

# A client that dies in the middle: the file never gets its name, and the daemon's end removes what was received.
truncate -s 2G "$work/large"
"$client" --server="$address" --window=1 "$work/large" >/dev/null 2>&1 &
client_pid=$!
for ((i = 0; i < 3000; ++i)); do
  [[ -z $(find "$incoming" -name '.large.*partial') ]] || break
  sleep 0.01
done
kill -KILL "$client_pid" 2>/dev/null || fail "the client was done too soon"
wait "$client_pid" 2>/dev/null || true
[[ ! -e $incoming/large ]] || fail "a partial file has the final name"
expect_copy 12345
stop_daemon filecopy_server "$pid"
[[ ! -e $incoming/large ]] || fail "a partial file has the final name after the daemon's end"
expect_nothing_partial

if "$server" --directory="$work/none" 2>"$work/errors"; then fail "a missing directory was served"; fi
grep -q 'is not a directory that can be written to' "$work/errors" || fail "words for it: $(cat "$work/errors")"
echo PASSED
