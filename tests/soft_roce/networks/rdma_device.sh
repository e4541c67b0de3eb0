# What networks are made of; sourced by them. `die` and `export_variable` are run_command.sh's.

# A link of two ends, each with its IPv4 address if it has one: make_veth veth0 10.77.0.1 veth1 ""
make_veth() {
  ip link add "$1" type veth peer name "$3" || die "no veth"
  [[ -z $2 ]] || ip addr add "$2/24" dev "$1"
  [[ -z $4 ]] || ip addr add "$4/24" dev "$3"
  ip link set "$1" up
  ip link set "$3" up
}

# An RDMA device over an interface, ready for connections: make_rdma_device rxe0 rxe veth0
make_rdma_device() {
  rdma link add "$1" type "$2" netdev "$3" || die "no $2 device on $3"
  wait_for_address "$1"
}

# Until a device that was just made can be connected to: wait_for_address rxe0
wait_for_address() {
  local port=/sys/class/infiniband/$1/ports/1 tries
  # The device takes its addresses from the interface in its own time, and nobody can wait for that.
  for ((tries = 0; tries < 100; ++tries)); do
    if grep -q ACTIVE "$port/state" && has_address "$port"; then
      return 0
    fi
    sleep 0.05
  done
  die "$1 has no address after 5 s"
}

# Whether one of the port's GIDs is an IPv4 address (RoCE), or the only one is the interface's (iWARP).
has_address() {
  [[ $(<"$1/link_layer") == Ethernet && -e $1/gid_attrs/types/1 ]] || return 0
  grep -qs ':ffff:' "$1"/gids/*
}
