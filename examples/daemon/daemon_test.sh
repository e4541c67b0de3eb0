# What a shell test of a daemon and its client begins with: source this, from the test's runfiles. Sets $work, a folder
# that goes with the test, as its daemons do. Programs run on the software device, or on the one that
# $VERBENA_TEST_ADDRESS leads to (tests/soft_roce).

source examples/daemon/daemons.sh
work=$(mktemp -d)
trap 'kill_daemons; rm -rf "$work"' EXIT
[[ -n ${VERBENA_TEST_ADDRESS-} ]] || export VERBENA_DEVICE=soft

fail() { # why…
  echo "FAILED: $*" >&2
  exit 1
}

# A word that is no flag, such as an address without its flag, is not passed over.
expect_flags_alone() { # program
  local status=0
  timeout 10 "$1" 127.0.0.1:7471 </dev/null 2>"$work/errors" || status=$?
  ((status == 2)) || fail "status of ${1##*/} with a word that is no flag: $status"
  grep -q "^${1##*/}: takes flags alone" "$work/errors" || fail "words for it: $(cat "$work/errors")"
}
