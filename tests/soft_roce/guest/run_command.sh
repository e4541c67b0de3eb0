#!/bin/bash
# The first process of a guest, once its root is as the command is to see it: brings the network up, runs the command as
# it was given on the host, writes its exit status to the run's folder and turns the machine off. Whatever guest it is.
#
# Expects /proc, /sys, /dev, /run and /run/verbena, the run's folder (guest_run.py says what is in it).
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
run=/run/verbena
source $run/parameters

# Ends the guest without an exit status; the reason is on the console, which the host shows.
die() {
  echo "verbena guest: $1" >/dev/kmsg
  turn_off
}

turn_off() {
  sync
  echo o >/proc/sysrq-trigger
  sleep infinity
}

mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
ln -sfn /proc/self/fd /dev/fd
hostname guest
ulimit -l unlimited
ulimit -c 0
ulimit -n 65536
ip link set lo up

# A network says by this what it calls its devices and addresses.
network_variables=(VERBENA_GUEST="$GUEST")
export_variable() { network_variables+=("$1=$2"); }
if [[ -n $NETWORK ]]; then
  source "$TOOLS/networks/$NETWORK" >/dev/kmsg 2>&1 || die "the network $NETWORK did not come up"
fi

mapfile -d '' -t command <$run/command
mapfile -d '' -t environment <$run/environment
cd -- "$(<$run/directory)" || die "there is no $(<$run/directory) in the guest"
launch=(env -i -- "${environment[@]}" "${network_variables[@]}")

# Some lines forget their settings when nobody has them open.
{ exec 8<>"$OUTPUT" 9<>"$ERRORS"; } || die "no line $OUTPUT or $ERRORS"
echo "verbena guest: ready after $(cut -d' ' -f1 /proc/uptime) s" >/dev/kmsg
if [[ -n $TERMINAL ]]; then
  stty -F "$OUTPUT" sane $TERMINAL
  "${launch[@]}" setsid --ctty --wait "${command[@]}" <"$OUTPUT" >"$OUTPUT" 2>&1 8>&- 9>&-
else
  stty -F "$OUTPUT" raw -echo
  stty -F "$ERRORS" raw -echo
  "${launch[@]}" setsid --wait "${command[@]}" </dev/null >"$OUTPUT" 2>"$ERRORS" 8>&- 9>&-
fi
status=$?
# stty returns when the line has carried all that was written to it.
stty -F "$OUTPUT" -echo
stty -F "$ERRORS" -echo
echo $status >$run/status
turn_off
