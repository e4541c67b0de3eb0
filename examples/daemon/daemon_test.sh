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
