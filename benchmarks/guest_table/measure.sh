#!/bin/bash
# In a guest: perftest and rpc_bench in turns on the guest's RDMA device, in one boot.
#
#   measure.sh FOLDER RPC_BENCH WAIT ROUNDS SECONDS
#
# Leaves in FOLDER, for each round N: send_lat.N and read_bw.N, what perftest said, and call.N and attachment.N, what
# rpc_bench said. WAIT is event or busy, for both; SECONDS is how long rpc_bench measures its calls in each.
set -u
folder=${1?} rpc_bench=${2?} wait=${3?} rounds=${4?} seconds=${5?}
address=${VERBENA_TEST_ADDRESS#rdma://}
events=()
[[ $wait == busy ]] || events=(-e)

# Both ends of a perftest program; what the client says goes to $folder/NAME. Again as long as it cannot tell how fast
# the processor counts, which it finds out by reading the clock, and has no figures then; and a few times if it was
# rejected (event 8, or by siw at once): the server says that it waits shortly before it listens.
run_perftest() {
  local tries status rejected=0
  for ((tries = 0; tries < 60 && rejected < 5; ++tries)); do
    run_both_ends "$@"
    status=$?
    if grep -q "^Unexpected CM event .* 8$\|^Function rdma_connect failed" "$folder/$1"; then
      ((++rejected))
    elif ! grep -q "Correlation coefficient r^2" "$folder/$1"; then
      return $status
    fi
  done
  cat "$folder/$1" >&2
  return 1
}

run_both_ends() {
  local name=$1 program=$2
  shift 2
  local command=(timeout 120 "$program" -R "${events[@]}" "$@")
  stdbuf -oL "${command[@]}" >"$folder/$name.server" 2>&1 &
  until grep -qs "Waiting for client" "$folder/$name.server"; do
    kill -0 $! || return 1
    sleep 0.1
  done
  "${command[@]}" "$address" >"$folder/$name" 2>&1
  local status=$?
  wait $!  # Its figures are not wanted.
  return $status
}

run_rpc_bench() {
  local name=$1
  shift
  timeout 240 "$rpc_bench" --host="$address" --wait="$wait" --rounds=1 --seconds="$seconds" --json "$@" \
    >"$folder/$name" 2>"$folder/$name.errors"
}

for ((round = 1; round <= rounds; ++round)); do
  run_perftest "send_lat.$round" ib_send_lat -s 64 -n 1000 || exit 1
  run_rpc_bench "call.$round" --payload=64 || exit 1
  run_perftest "read_bw.$round" ib_read_bw -s 1048576 -n 200 || exit 1
  run_rpc_bench "attachment.$round" --attachment=1048576 || exit 1
done
