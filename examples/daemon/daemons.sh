# Server daemons in shell scripts: source this. No daemon outlives the script, if it calls kill_daemons when it exits.
#
#   source examples/daemon/daemons.sh
#   trap kill_daemons EXIT
#   start_daemon "$log_directory" path/to/greeter_server --callback    # sets $pid and $address
#   stop_daemon greeter_server "$pid"

daemon_pids=()
daemon_host=${VERBENA_TEST_ADDRESS:-127.0.0.1} # Where daemons listen; tests name a device by it: rdma://10.77.0.1
daemon_start_seconds_max=30                    # How long a daemon may take until it says that it listens.

# Starts a daemon on a free port and reads what it says until it listens: nothing is slept for, and one that cannot start
# is noticed at once. Sets $pid, and $address as host:port. All that it says is shown and goes to NAME.log as well.
start_daemon() { # directory for logs, program, arguments…
  local logs=$1 program=$2 name=${2##*/} line lines
  shift 2
  rm -f "$logs/$name.fifo"
  mkfifo "$logs/$name.fifo"
  "$program" --listen="$daemon_host:0" "$@" 2>"$logs/$name.fifo" &
  pid=$!
  daemon_pids+=("$pid")
  exec {lines}<"$logs/$name.fifo"
  address=
  while [[ -z $address ]]; do
    if ! IFS= read -r -t "$daemon_start_seconds_max" -u "$lines" line; then
      echo "$name did not start" >&2
      return 1
    fi
    printf '%s\n' "$line" | tee -a "$logs/$name.log"
    if [[ $line == "$name: listening on "* ]]; then address=${line##*://}; fi
  done
  tee -a "$logs/$name.log" <&"$lines" &
  exec {lines}<&-
}

# Stops a daemon by SIGTERM: it has to drain and to exit with 0.
stop_daemon() { # name, pid
  local status=0
  kill -TERM "$2"
  wait "$2" || status=$?
  if ((status != 0)); then
    echo "$1 ended with status $status after SIGTERM" >&2
    return 1
  fi
  printf '%s drained and exited with 0\n' "$1"
}

# Ends what is still there, at once.
kill_daemons() {
  local daemon
  for daemon in "${daemon_pids[@]}"; do
    kill -KILL "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  done
  daemon_pids=()
}
