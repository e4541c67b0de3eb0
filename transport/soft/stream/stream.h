// One TCP connection as its two users see it: first the connection manager talks over it, then it is the wire of a
// queue pair, and in between each direction changes hands by itself.
//
//   active end    sends READY_TO_USE -> output is the wire's      received REPLY -> input is the wire's
//   passive end   sends REPLY        -> output is the wire's      received READY_TO_USE -> input is the wire's
//
// The wire keeps its hands off a direction that it was not given. The connection manager closes the connection by
// Finish: what the queue pair still has to say goes out, then the end of the stream. The socket is closed with the last
// of the two users.
//
// fork(): the child shares each connection with its parent, so it must neither end one nor hold one open when the
// parent ends. ControlPlane has it close its copies of the descriptors by AbandonAll; a Stream without one does
// nothing.
//
// Owner: shared by the control socket and the wire. Thread: any, without a lock: one may be destroyed in a forked
// child, where whoever held the lock does not exist.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_STREAM_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_STREAM_H_

#include <sys/socket.h>

#include <atomic>
#include <cstdint>

#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class Stream {
 public:
  explicit Stream(UniqueFd fd);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int fd() const { return fd_.get(); }

  void GiveInput() { input_given_.store(true); }
  void GiveOutput() { output_given_.store(true); }
  bool input_given() const { return input_given_.load(std::memory_order_acquire); }
  bool output_given() const { return output_given_.load(std::memory_order_acquire); }

  // The end of our direction, when the wire has said its last word.
  void Finish() {
    if ((ending_.fetch_or(kFinishWanted) & kWireTalks) == 0) shutdown(fd(), SHUT_WR);
  }
  // Whether the wire has or may yet have something to write.
  void SetWireTalks(bool talks) {
    uint8_t before = talks ? ending_.fetch_or(kWireTalks) : ending_.fetch_and(kFinishWanted);
    if ((before & kFinishWanted) != 0 && !talks) shutdown(fd(), SHUT_WR);
  }
  // The peer is not to be talked to any more. Both users find the stream at its end.
  void Break() { shutdown(fd(), SHUT_RDWR); }

  // Around fork(): no Stream is made or destroyed meanwhile. The lock is the last that a thread takes.
  static void LockForFork();
  static void UnlockAfterFork();
  // The same in the child: first it closes the descriptors of all.
  static void AbandonAll();

 private:
  static constexpr uint8_t kFinishWanted = 1;
  static constexpr uint8_t kWireTalks = 2;

  UniqueFd fd_;  // Constant, but in the child of a fork.
  std::atomic<bool> input_given_{false};
  std::atomic<bool> output_given_{false};
  std::atomic<uint8_t> ending_{0};  // Of the flags above.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_STREAM_H_
