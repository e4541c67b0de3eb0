#!/usr/bin/env bash
# The key-value store's programs as a user runs them: three servers that share the keys, one of which is killed.
#
# Usage: kvstore_test.sh SERVER CLIENT
set -euo pipefail

server=$1
client=$2
source examples/daemon/daemon_test.sh

folders=60

# Starts a watch of a folder: sets $watcher, and descriptor $changes, where it says what it sees.
start_watch() { # folder
  rm -f "$work/changes"
  mkfifo "$work/changes"
  "$client" --servers="$servers" watch "$1/" >"$work/changes" 2>"$work/watch_errors" &
  watcher=$!
  exec {changes}<"$work/changes"
}

expect_change() { # line
  local line
  IFS= read -r -t 30 -u "$changes" line || fail "the watch did not see: $1; $(cat "$work/watch_errors")"
  [[ $line == "$1" ]] || fail "the watch saw: $line, and not: $1"
}

# The watch ends as UNAVAILABLE, in these words.
expect_end_of_watch() { # pattern
  local status=0
  wait "$watcher" || status=$?
  ((status == 1)) || fail "the watch ended with status $status"
  grep -q "UNAVAILABLE.*$1" "$work/watch_errors" || fail "the watch's end: $(cat "$work/watch_errors")"
  exec {changes}<&-
}

keys_found() { # servers
  "$client" --servers="$1" get "${keys[@]}" 2>"$work/get_errors" | wc -l || true
}

addresses=() pids=()
for _ in 1 2 3; do
  start_daemon "$work" "$server"
  addresses+=("$address")
  pids+=("$pid")
done
servers=$(IFS=,; echo "${addresses[*]}")

keys=() entries=()
for ((i = 1; i <= folders; ++i)); do
  keys+=("folder$i/key")
  entries+=("folder$i/key" "value$i")
  echo "folder$i/key = value$i" >>"$work/expected"
done
"$client" --servers="$servers" put "${entries[@]}" || fail "put"
"$client" --servers="$servers" get "${keys[@]}" >"$work/found" || fail "not all was found again"
cmp "$work/expected" "$work/found" || fail "what was found is not what was put"

# Each key is on one server, and each server has some.
all=0 owner=
for i in 0 1 2; do
  found=$(keys_found "${addresses[i]}")
  echo "${addresses[i]} has $found of $folders keys"
  ((found > 0)) || fail "${addresses[i]} has no keys"
  all=$((all + found))
  if "$client" --servers="${addresses[i]}" get folder1/key >/dev/null 2>&1; then owner=$i owned=$found; fi
done
((all == folders)) || fail "$all keys are on the three servers, not $folders"

# A file may name the servers as well; their order does not matter.
printf '%s\n' "${addresses[2]}" "${addresses[0]}" "${addresses[1]}" >"$work/servers"
(($(keys_found "file://$work/servers") == folders)) || fail "by a file that names the servers: $(cat "$work/get_errors")"

# A watch has what is there, and then what changes; it ends with its server, in words.
start_watch folder1
expect_change "folder1/key = value1"
"$client" --servers="$servers" put folder1/other new folder2/key unseen folder1/key again
expect_change "folder1/other = new"
expect_change "folder1/key = again"
"$client" --servers="$servers" delete folder1/other
expect_change "folder1/other deleted"
kill -KILL "${pids[owner]}"
expect_end_of_watch ""

# Nothing is kept twice: the killed server's keys are gone, the others where they were. Put again, they are elsewhere.
left=$(keys_found "$servers")
((left == folders - owned)) || fail "$left keys are left, not $((folders - owned)): $(cat "$work/get_errors")"
grep -qx 'kvstore_client: get folder1/key: NOT_FOUND: this server does not have "folder1/key".*' "$work/get_errors" ||
  fail "words for a lost key: $(cat "$work/get_errors")"
"$client" --servers="$servers" put "${entries[@]}" || fail "put after the death of a server"
(($(keys_found "$servers") == folders)) || fail "not all was found again: $(cat "$work/get_errors")"

# Servers that drain end the watches.
start_watch folder1
expect_change "folder1/key = value1"
for i in 0 1 2; do
  ((i == owner)) || stop_daemon kvstore_server "${pids[i]}"
done
expect_end_of_watch "the server shuts down"

if "$client" --servers="$servers" --timeout=500ms get folder1/key 2>"$work/errors"; then fail "nobody answered"; fi
grep -q "UNAVAILABLE\|DEADLINE_EXCEEDED" "$work/errors" || fail "words for nobody there: $(cat "$work/errors")"
if "$client" --servers="$servers" watch folder1 2>"$work/errors"; then fail "a watch of no folder was taken"; fi
grep -q 'a watch is of one folder' "$work/errors" || fail "words for it: $(cat "$work/errors")"
if "$client" --servers="$servers" put key 2>"$work/errors"; then fail "a key without a value was taken"; fi
grep -q 'put KEY VALUE' "$work/errors" || fail "words for it: $(cat "$work/errors")"
expect_flags_alone "$server"
echo PASSED
