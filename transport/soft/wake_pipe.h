// What a sleeper is woken by, within its process and from others that may mean harm: a pipe.
//
// An open file has one set of flags, whoever holds it: who passes one to a peer can be made to block in it, in reading
// as in writing. So nobody here uses an open file that another process has too. The owner never passes its own ends on;
// what it passes is opened anew for each peer (through /proc/self/fd), and the peer opens that anew before it writes.
// An eventfd cannot be opened anew, nor written with RWF_NOWAIT.
//
// What a byte says is: look. Many may wait, and one look drains them.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_WAKE_PIPE_H_
#define VERBENA_TRANSPORT_SOFT_WAKE_PIPE_H_

#include <optional>
#include <utility>

#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// The writing side, which never blocks and raises no signal. Without it (`fd` not valid) nobody is woken.
class WakeWriter {
 public:
  // Opens the pipe anew that `fd` is an end of. Not valid, with errno set, if it is no pipe or cannot be opened.
  static WakeWriter Open(const UniqueFd& fd);

  WakeWriter() = default;
  bool valid() const { return fd_.valid(); }
  // Failures are ignored: the pipe is full, so its reader is awake.
  void Wake() const;
  // To be passed on.
  UniqueFd TakeFd() { return std::move(fd_); }

 private:
  friend class WakePipe;
  explicit WakeWriter(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

// The owner's side.
class WakePipe {
 public:
  // None, with errno set, if the kernel has none to give.
  static std::optional<WakePipe> Create();

  // Readable when Wake was called since the last Drain. Its flags are the owner's to set: it blocks at first.
  int fd() const { return reader_.get(); }
  void SetNonBlocking() const;

  void Wake() const { writer_.Wake(); }
  // Waits unless the descriptor is non-blocking. 0, or an errno value: EAGAIN, EINTR.
  int Drain() const;

  // For a peer. Not valid if the process is out of descriptors.
  UniqueFd NewFdForPeer() const { return WakeWriter::Open(reader_).TakeFd(); }

 private:
  WakePipe(UniqueFd reader, WakeWriter writer) : reader_(std::move(reader)), writer_(std::move(writer)) {}

  UniqueFd reader_;
  WakeWriter writer_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_WAKE_PIPE_H_
