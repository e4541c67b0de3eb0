#!/usr/bin/env bash
# The chat's programs as a user runs them: who is in a room hears what is said there, and nobody else does.
#
# Usage: chat_test.sh SERVER CLIENT
set -euo pipefail
export LC_ALL=C # In UTF-8, bash waits for the rest of a character that never comes.

server=$1
client=$2
source examples/daemon/daemon_test.sh

declare -A says hears talks # Descriptors and process, by member.

# Starts a client whose standard input and output are descriptors of this script.
join() { # member, room
  local in out
  mkfifo "$work/$1.in" "$work/$1.out"
  (
    for in in "${says[@]}"; do exec {in}>&-; done # The others' inputs end when this script ends them.
    exec "$client" --server="$address" --room="$2" --name="$1" <"$work/$1.in" >"$work/$1.out" 2>"$work/$1.errors"
  ) &
  talks[$1]=$!
  exec {in}>"$work/$1.in" {out}<"$work/$1.out"
  says[$1]=$in hears[$1]=$out
}

say() { # member, line
  echo "$2" >&"${says[$1]}"
}

stop_talking() { # member
  local in=${says[$1]}
  exec {in}>&-
  unset "says[$1]"
}

expect() { # member, line
  local line
  IFS= read -r -t 30 -u "${hears[$1]}" line || fail "$1 did not hear: $2; $(cat "$work/$1.errors")"
  [[ $line == "$2" ]] || fail "$1 heard: $line, and not: $2"
}

# The member hears nothing more, and its client ends.
expect_end() { # member, status
  local line status=0
  if IFS= read -r -t 30 -u "${hears[$1]}" line; then fail "$1 heard: $line"; fi
  wait "${talks[$1]}" || status=$?
  ((status == $2)) || fail "$1's client ended with status $status: $(cat "$work/$1.errors")"
}

start_daemon "$work" "$server"

join Ada tea
expect Ada "* Ada has joined"
join Eve cellar
expect Eve "* Eve has joined"
join Bob tea
expect Ada "* Bob has joined"
expect Bob "* Bob has joined"

say Ada "one lump or two?"
expect Ada "Ada: one lump or two?"
expect Bob "Ada: one lump or two?"
for ((i = 1; i <= 100; ++i)); do say Bob "$i lumps"; done
for ((i = 1; i <= 100; ++i)); do
  expect Ada "Bob: $i lumps"
  expect Bob "Bob: $i lumps"
done

# What is typed need not be UTF-8, as in a terminal of another encoding.
say Ada $'caf\xe9'
expect Ada $'Ada: caf\xe9'
expect Bob $'Ada: caf\xe9'

if "$client" --server="$address" --room=tea --name=Ada </dev/null >/dev/null 2>"$work/errors"; then
  fail "two of one name are in one room"
fi
grep -q 'ALREADY_EXISTS: somebody called Ada is in room tea' "$work/errors" || fail "words for it: $(cat "$work/errors")"
if "$client" --server="$address" --room=tea --name= </dev/null 2>"$work/errors"; then fail "nobody has joined"; fi
grep -q "INVALID_ARGUMENT: the member's name is empty" "$work/errors" || fail "words for it: $(cat "$work/errors")"

# Who ends his input leaves, and has heard all that he said; who is killed leaves, too.
say Ada "good-bye"
stop_talking Ada
expect Ada "Ada: good-bye"
expect_end Ada 0
expect Bob "Ada: good-bye"
expect Bob "* Ada has left"
join Cyd tea
expect Bob "* Cyd has joined"
kill -KILL "${talks[Cyd]}"
expect Bob "* Cyd has left"

# A server that drains ends the talks, also of those who only listen; what was said elsewhere, nobody has heard.
stop_daemon chat_server "$pid"
for member in Bob Eve; do
  expect_end "$member" 1
  grep -q 'UNAVAILABLE: the server shuts down' "$work/$member.errors" || fail "the end of $member's talk: $(cat "$work/$member.errors")"
done
expect_flags_alone "$server"
expect_flags_alone "$client"
echo PASSED
