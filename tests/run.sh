#!/usr/bin/env bash
# Builds and runs every test, and closes with the line `N passed, N failed`. Exits with 0 only if none failed.
#
#   ./tests/run.sh                    everything, and then the integration tests once more, on RDMA devices of a guest's
#                                     kernel (tests/soft_roce/run_suite; some eight minutes)
#   ./tests/run.sh --no-guests        everything but those
#   ./tests/run.sh --fast             the tests of size "small", a second or two each; building no more than they need
#   ./tests/run.sh --style            the style checks alone
#   ./tests/run.sh [--fast] --config=asan [other options of `bazel test`, or targets]
#
# Guests are for whole runs: with --config or targets there are none, for sanitizers do not start in them.
#
# On a bare Debian 12 as root it installs the packages that it needs first. Compiled objects and passed tests are kept
# in $XDG_CACHE_HOME/verbena (default ~/.cache/verbena), so a second run does only what changed; the directory may be
# deleted at any time. A ~/.bazelrc is ignored, a user.bazelrc in the repository is not.
set -uo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

options=()
targets=()
guests=yes
for argument in "$@"; do
  case "$argument" in
    --fast) options+=(--test_size_filters=small --build_tests_only) guests= ;;
    --no-guests) guests= ;;
    --style) targets+=(//tests/style/...) ;;
    --help | -h)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' tests/run.sh
      exit 0
      ;;
    --config=*) options+=("$argument") guests= ;;
    -*) options+=("$argument") ;;
    *) targets+=("$argument") ;;
  esac
done
if ((${#targets[@]} > 0)); then
  guests=
else
  targets=(//...)
fi

if ! tools/install_deps.sh; then
  echo "tests/run.sh: tools/install_deps.sh failed; nothing was built"
  echo "0 passed, 1 failed"
  exit 1
fi

export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
events="$(mktemp)"
guest_results="$(mktemp -d)"
trap 'rm -rf "$events" "$guest_results"' EXIT
disk_cache="--disk_cache=${XDG_CACHE_HOME:-$HOME/.cache}/verbena/bazel"

bazel --nohome_rc test --keep_going --test_output=errors "$disk_cache" --build_event_json_file="$events" \
  "${options[@]}" -- "${targets[@]}" 2>&1
bazel_status=$?
case $bazel_status in
  2 | 8) guests= ;; # Wrong options; interrupted.
esac

if [[ -n $guests ]]; then
  bazel --nohome_rc build "$disk_cache" //tests/soft_roce:suite_programs 2>&1 &&
    tests/soft_roce/run_suite --output="$guest_results" 2>&1
fi

echo
PYTHONDONTWRITEBYTECODE=1 python3 tests/report/report.py "$events" "$bazel_status" \
  ${guests:+"$guest_results/counts.json"}
