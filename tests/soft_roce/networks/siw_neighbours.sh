# The neighbours of siw_two_namespaces, which go with an interface that is set down. For the network, and for who has set
# one up again (VERBENA_TEST_LINK_UP).
#
# Over a veth the answer of ARP comes before the question was noted: the kernel's RDMA address resolution misses it and
# waits until its time is over.
ip neigh replace 10.77.0.2 lladdr "$(ip netns exec peer cat /sys/class/net/veth1/address)" dev veth0 nud permanent
ip netns exec peer ip neigh replace 10.77.0.1 lladdr "$(</sys/class/net/veth0/address)" dev veth1 nud permanent
