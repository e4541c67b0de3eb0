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
// Owner: shared by the control socket and the wire. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_STREAM_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_STREAM_H_

#include <sys/socket.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class Stream {
 public:
  explicit Stream(UniqueFd fd) : fd_(std::move(fd)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int fd() const { return fd_.get(); }

  void GiveInput() { input_given_.store(true); }
  void GiveOutput() { output_given_.store(true); }
  bool input_given() const { return input_given_.load(std::memory_order_acquire); }
  bool output_given() const { return output_given_.load(std::memory_order_acquire); }

  // The end of our direction, when the wire has said its last word.
  void Finish() {
    std::lock_guard lock(mu_);
    finish_wanted_ = true;
    if (!wire_talks_) shutdown(fd(), SHUT_WR);
  }
  // Whether the wire has or may yet have something to write.
  void SetWireTalks(bool talks) {
    std::lock_guard lock(mu_);
    wire_talks_ = talks;
    if (finish_wanted_ && !talks) shutdown(fd(), SHUT_WR);
  }
  // The peer is not to be talked to any more. Both users find the stream at its end.
  void Break() { shutdown(fd(), SHUT_RDWR); }

 private:
  const UniqueFd fd_;
  std::atomic<bool> input_given_{false};
  std::atomic<bool> output_given_{false};

  std::mutex mu_;
  bool finish_wanted_ ABSL_GUARDED_BY(mu_) = false;
  bool wire_talks_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_STREAM_H_
