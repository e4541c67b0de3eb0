#!/usr/bin/env bash
# What is measured here, one table after the other: what a call costs, and calls beside raw verbs, UCX and gRPC.
#
#   ./benchmarks/run.sh [FOLDER]      the tables, and comparison.json and the tables as text in FOLDER
#
# Some ten minutes on a machine with nothing else to do. What else there is has a program of its own:
# benchmarks/guest_table (the kernel's RDMA devices beside perftest), //benchmarks/soft_floor (the software device).
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
folder="$(realpath -m "${1:-$(mktemp -d)}")"
mkdir -p "$folder"
tools/install_deps.sh
bazel --nohome_rc build //benchmarks/call_cost
for in_flight in 1 64; do
  echo "What a call of 64 B costs, $in_flight in flight:"
  benchmarks/call_cost/call_cost.py --in_flight=$in_flight
done | tee "$folder/call_cost.txt"
benchmarks/peers/compare --json="$folder/comparison.json" | tee "$folder/comparison.md"
echo "benchmarks/run.sh: the figures are in $folder"
