#!/usr/bin/env bash
# filecopy's programs as a user runs them: files of many sizes arrive whole, whatever goes wrong has its words, and a
# copy that was interrupted goes on where it was, if it is still of the same file. On the software device, or on the one that $VERBENA_TEST_ADDRESS leads to
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

# A name is what the file system has: bytes, not always UTF-8.
latin1=$'caf\xe9'
cp "$work/file.65537" "$work/$latin1"
"$client" --server="$address" "$work/$latin1" >"$work/output" 2>"$work/errors" || fail "a name in Latin-1: $(cat "$work/errors")"
cmp "$work/$latin1" "$incoming/$latin1" || fail "the file with a name in Latin-1 differs"

echo old >"$work/victim"
expect_error 'is refused: it names a directory' --name=../victim "$work/file.1"
expect_error 'is refused: it begins with a dot' --name=.hidden "$work/file.1"
[[ $(cat "$work/victim") == old ]] || fail "a file outside of the directory was written"
expect_error 'cannot open' "$work/no_such_file"
expect_error 'is a directory' "$work"
expect_error 'has more than the 0 bytes that its file system says' /proc/self/status
[[ ! -e $incoming/status ]] || fail "an empty copy of a file that is not empty"
expect_error '--timeout must be more than 0' --timeout=0 "$work/file.1"
expect_error '--window must be at least 1' --window=0 "$work/file.1"
if ((EUID != 0)); then
  install -m 000 "$work/file.1" "$work/unreadable"
  expect_error 'Permission denied' "$work/unreadable"
fi
truncate -s 8E "$work/huge" 2>/dev/null || truncate -s 8T "$work/huge"
expect_error 'cannot reserve' "$work/huge"
expect_nothing_partial

# Lets the pipe of this descriptor hold a page only. Bash has no word for it.
make_small() { # descriptor
  perl -e 'open(PIPE, "+<&=$ARGV[0]") && fcntl(PIPE, 1031, 4096) or die "F_SETPIPE_SZ: $!"' "$1"
}

# A client in the middle of a copy, for as long as its standard error is not read: it says more than fits the pipe. One
# chunk at a time: what it says that the server has, is there without a gap. Sets $client_pid, and descriptor $said,
# from which the first lines have been read.
start_interruptible_copy() { # file, flags of the client…
  local file=$1 line both
  shift
  rm -f "$work/said"
  mkfifo "$work/said"
  exec {both}<>"$work/said"  # Keeps the pipe until both ends are open.
  make_small "$both"
  "$client" --server="$address" --progress_lines --chunk_bytes=1024 --window=1 "$@" "$file" >"$work/output" \
    2>"$work/said" {both}>&- &
  client_pid=$!
  exec {said}<"$work/said"
  exec {both}>&-
  while IFS= read -r -t 30 -u "$said" line; do
    if [[ $line == *": "[1-9]*" of "*" bytes" ]]; then return; fi
  done
  fail "the client has not sent anything"
}

# Lets the client go on, until its end: sets $status.
finish_copy() {
  status=0
  cat <&"$said" >"$work/notices"
  exec {said}<&-
  wait "$client_pid" || status=$?
}

kill_now() { # pid
  kill -KILL "$1"
  wait "$1" 2>/dev/null || true
}

restart_server() {
  start_daemon "$work" "$server" --directory="$incoming" --listen="$daemon_host:${address##*:}"
}

expect_notice() { # pattern
  grep -q -- "$1" "$work/notices" || fail "no notice of '$1': $(grep -v ' bytes$' "$work/notices" || true)"
}

expect_whole() { # file
  cmp "$1" "$incoming/${1##*/}" || fail "${1##*/} differs"
  expect_nothing_partial
}

# Runs the command again, to its end.
run_again() { # file
  "$client" --server="$address" "$1" >"$work/output" 2>"$work/notices" || fail "run again: $(cat "$work/notices")"
  expect_whole "$1"
}

# A run that is killed, of which the server has a beginning.
interrupt_copy() { # file
  start_interruptible_copy "$1"
  kill_now "$client_pid"
  exec {said}<&-
  [[ ! -e $incoming/${1##*/} ]] || fail "a partial file has the final name"
}

large=$work/large partial=$incoming/.large.partial
renew_source() { # writes another file, of the same size
  rm -f "$incoming/large"
  head -c 300001 /dev/urandom >"$large"
}

# The server is killed and comes back: the client goes on by itself.
renew_source
start_interruptible_copy "$large"
kill_now "$pid"
[[ ! -e $incoming/large ]] || fail "a partial file has the final name"
restart_server
finish_copy
((status == 0)) || fail "after a restart of the server: status $status, $(tail -n 3 "$work/notices")"
expect_notice 'filecopy_client: interrupted: UNAVAILABLE'
expect_notice 'filecopy_client: going on after [1-9][0-9]* of 300001 bytes'
expect_whole "$large"

# The server is killed and does not come back: the client says so, and what has arrived is gone on with by another run.
renew_source
start_interruptible_copy "$large" --resume_timeout=1s
kill_now "$pid"
finish_copy
((status == 75)) || fail "without a server: status $status, $(tail -n 3 "$work/notices")"
expect_notice 'run the same command again: it goes on after what has arrived'
restart_server
run_again "$large"
grep -qx 'resumed: [1-9][0-9]* of 300001 bytes were there' "$work/output" || fail "not resumed: $(cat "$work/output")"

# The client is killed: the same. Its transfer, which the server still has, makes room for the new one.
renew_source
interrupt_copy "$large"
run_again "$large"
expect_notice 'going on after [1-9]'

# So it is after the daemon's end in good order.
renew_source
interrupt_copy "$large"
stop_daemon filecopy_server "$pid"
restart_server
run_again "$large"
expect_notice 'going on after [1-9]'

# Another file of the same name, of the same size or not: nothing of the one before is in it.
for size in 300001 200000; do
  renew_source
  interrupt_copy "$large"
  head -c "$size" /dev/urandom >"$large"
  run_again "$large"
  expect_notice 'starting anew: the [1-9][0-9]* bytes that the server had of large were not the beginning'
done

# What was kept is changed, or cut, by somebody: it is noticed, and not used.
for harm in "truncate -s 500 $partial" "truncate -s -1 $partial" "dd if=/dev/urandom of=$partial bs=16 count=1 conv=notrunc"; do
  renew_source
  interrupt_copy "$large"
  $harm 2>/dev/null
  run_again "$large"
  expect_notice 'starting anew'
done

# The source is changed under the client: an error, and nothing is left of the mixture.
renew_source
start_interruptible_copy "$large"
printf 'x' >>"$large"
finish_copy
((status == 1)) || fail "a changed source: status $status"
expect_notice 'ABORTED: .*large was changed while it was read'
[[ ! -e $incoming/large ]] || fail "a mixture has the final name"
expect_nothing_partial

# Two clients send the same name: the later one wins, the earlier one says so.
renew_source
start_interruptible_copy "$large"
run_again "$large"
finish_copy
((status == 1)) || fail "the earlier of two clients: status $status"
expect_notice 'ABORTED: a later transfer of large has taken its place'

# A source that vanishes meanwhile is sent to its end; one that is a directory there is refused.
renew_source
cp "$large" "$work/original"
start_interruptible_copy "$large"
rm "$large"
finish_copy
((status == 0)) || fail "a source that vanished: $(tail -n 3 "$work/notices")"
cmp "$work/original" "$incoming/large" || fail "the vanished source's copy differs"
mkdir "$incoming/folder"
expect_error 'is a directory' --name=folder "$work/file.1"
expect_nothing_partial

expect_copy 12345
stop_daemon filecopy_server "$pid"
expect_nothing_partial

# Nobody there: another time may be better.
status=0
"$client" --server="$address" "$work/file.1" >/dev/null 2>"$work/errors" || status=$?
((status == 75)) || fail "no server: status $status, $(cat "$work/errors")"

if "$server" --directory="$work/none" 2>"$work/errors"; then fail "a missing directory was served"; fi
grep -q 'is not a directory that can be written to' "$work/errors" || fail "words for it: $(cat "$work/errors")"
for flag in --idle_timeout=-1s --idle_timeout=0 --partial_keep=0 --transfers_max=0; do
  if timeout 10 "$server" --directory="$incoming" $flag 2>"$work/errors"; then fail "$flag was served"; fi
  grep -q "^filecopy_server: ${flag%%=*} must be" "$work/errors" || fail "words for $flag: $(cat "$work/errors")"
done
expect_flags_alone "$server"
echo PASSED
