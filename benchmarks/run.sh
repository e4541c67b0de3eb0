#!/usr/bin/env bash
# What is measured here, one table after the other: calls beside raw verbs, gRPC, Cap'n Proto, UCX and libfabric, and
# what a call costs.
#
#   ./benchmarks/run.sh [FOLDER] [OPTION...]    the tables; and in FOLDER the tables as text, comparison.json, and charts
#
# Options are those of benchmarks/peers/compare: --rows=short for a quick look, --write=docs/performance.md to put the
# table into the document. All rows take some twenty minutes on a machine with nothing else to do. What else there is has a
# program of its own: benchmarks/guest_table (the kernel's RDMA devices beside perftest), //benchmarks/soft_floor (the
# software device).
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' benchmarks/run.sh
  exit 0
fi
if [[ ${1:---} == --* ]]; then folder="$(mktemp -d)"; else folder="$(realpath -m "$1")"; shift; fi
mkdir -p "$folder"
tools/install_deps.sh
benchmarks/peers/compare --json="$folder/comparison.json" --charts="$folder" "$@" | tee "$folder/comparison.md"
bazel --nohome_rc build //benchmarks/call_cost
for in_flight in 1 64; do
  echo "What a call of 64 B costs, $in_flight in flight:"
  benchmarks/call_cost/call_cost.py --in_flight=$in_flight
done | tee "$folder/call_cost.txt"
echo "benchmarks/run.sh: the figures and charts are in $folder"
