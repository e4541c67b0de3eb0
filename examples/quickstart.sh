#!/usr/bin/env bash
# Builds the examples and shows them at work, on a bare Debian 12 as root: installs what is missing, starts the greeter
# daemon, calls it from another process, blocking and by callback, copies a file of 256 MiB to a file server, compares
# checksums, prints which device and path each used, and stops the daemons. Exits 0 if all of that worked.
#
# Usage: examples/quickstart.sh     VERBENA_DEVICE=auto|soft|NAME   device to use (default: auto)
#                                   QUICKSTART_FILE_MIB=N           size of the file (default: 256)
set -euo pipefail

cd "$(dirname "$0")/.."
file_mib=${QUICKSTART_FILE_MIB:-256}
work=$(mktemp -d "${TMPDIR:-/tmp}/verbena-quickstart.XXXXXX")
source examples/daemon/daemons.sh

say() { printf '\n== %s\n' "$*"; }

die() {
  printf 'quickstart.sh: %s\n' "$*" >&2
  exit 1
}

# However this ends, no daemon and no file stays behind; after a failure the daemons' last words are shown.
clean_up() {
  local status=$? log
  kill_daemons
  if ((status != 0)); then
    for log in "$work"/*.log; do
      if [[ -s $log ]]; then
        printf -- '-- %s ended with:\n' "$(basename "$log" .log)" >&2
        tail -n 20 "$log" >&2
      fi
    done
  fi
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What the two ends printed must be what sha256sum finds in the files.
check_copy() { # source, copy, output of filecopy_client
  local expected
  expected=$(sha256sum <"$1" | cut -d' ' -f1)
  [[ $(sha256sum <"$2" | cut -d' ' -f1) == "$expected" ]] || die "the copy differs from the file"
  grep -qx "client sha256 $expected" "$3" || die "the client printed another SHA-256 than $expected"
  grep -qx "server sha256 $expected" "$3" || die "the server printed another SHA-256 than $expected"
  printf 'sha256sum     %s: all the same\n' "$expected"
}

say "Packages"
tools/install_deps.sh
echo "all there"

say "Build"
bazel build //examples/greeter:greeter_server //examples/greeter:greeter_client \
  //examples/filecopy:filecopy_server //examples/filecopy:filecopy_client
bin=$(bazel info bazel-bin)/examples

say "Greeter: a server daemon, and calls from another process"
start_daemon "$work" "$bin/greeter/greeter_server"
greeter_pid=$pid
"$bin/greeter/greeter_client" --server="$address" --name="RDMA" | tee "$work/greeter.txt"
grep -qx 'blocking: Hello, RDMA!' "$work/greeter.txt" || die "the blocking call did not return the greeting"
grep -qx 'callback: Hello, RDMA!' "$work/greeter.txt" || die "the callback call did not return the greeting"

say "Filecopy: $file_mib MiB of random bytes"
head -c "${file_mib}M" /dev/urandom >"$work/random.bin"
mkdir "$work/incoming"
start_daemon "$work" "$bin/filecopy/filecopy_server" --directory="$work/incoming"
filecopy_pid=$pid
"$bin/filecopy/filecopy_client" --server="$address" "$work/random.bin" | tee "$work/filecopy.txt"
check_copy "$work/random.bin" "$work/incoming/random.bin" "$work/filecopy.txt"

say "Stopping the daemons"
stop_daemon greeter_server "$greeter_pid"
stop_daemon filecopy_server "$filecopy_pid"

say "Everything worked"
