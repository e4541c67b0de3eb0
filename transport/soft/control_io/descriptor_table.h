// Room in this process' table of descriptors, made ahead of need.
//
// A connection of the software device is a descriptor. The kernel doubles a process' table when a number does not fit,
// and where threads share it waits for all processors first (expand_files in its fs/file.c: synchronize_rcu, some 12
// ms), in the system call that asked for the descriptor: who accepts a peer with the 64th, 128th, 256th … stands still
// for that long, and who waits for its lock with it. Here the table grows while half of it is free, by a thread that
// may wait; others go on with what is left meanwhile. Beyond a limit that is raised later it grows by whoever meets it.
//
// Owner: the thread that watches sockets. Note by any thread, MakeRoom by one at a time, without a lock that others
// wait for.

#ifndef VERBENA_TRANSPORT_SOFT_CONTROL_IO_DESCRIPTOR_TABLE_H_
#define VERBENA_TRANSPORT_SOFT_CONTROL_IO_DESCRIPTOR_TABLE_H_

#include <atomic>

#include "transport/soft/control_io/unix_socket.h"

namespace verbena::soft {

// The table that a process begins with has 64, of which these are not noted.
inline constexpr int kFirstAmple = 32;

// Peers accepted before MakeRoom has its turn. Each is noted by its socket, which a packet with descriptors follows: so
// many, behind one that was not noted yet, fit into the other half.
inline constexpr int kAcceptedPerTurnMax = 2;
static_assert((1 + kAcceptedPerTurnMax) * (1 + int{kPacketFdsMax}) <= kFirstAmple);

class DescriptorTable {
 public:
  // `fd` is open: as the kernel hands out the lowest number that is free, about so many are. True if it is time for
  // MakeRoom; to one caller only until that was called.
  bool Note(int fd);
  // If it is time: has the kernel provide for several times as many, within RLIMIT_NOFILE. `fd` is any that is open; it
  // is duplicated for a moment.
  void MakeRoom(int fd);

 private:
  std::atomic<int> ample_below_{kFirstAmple};  // Half of what the kernel provides for.
  std::atomic<int> outgrown_by_{0};            // The number that was too high; 0: none.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CONTROL_IO_DESCRIPTOR_TABLE_H_
