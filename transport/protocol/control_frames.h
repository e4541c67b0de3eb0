// The small frames that are due: a flag for each kind, not a queue, so that no behaviour of a peer makes it grow.
//
// Owner: the connection machine. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_PROTOCOL_CONTROL_FRAMES_H_
#define VERBENA_TRANSPORT_PROTOCOL_CONTROL_FRAMES_H_

#include <cstdint>

namespace verbena::protocol {

class ControlFrames {
 public:
  enum Kind : uint8_t {
    kPong = 1 << 0,
    kPing = 1 << 1,
    kReclaim = 1 << 2,
    kReturn = 1 << 3,   // Of what is idle when it is sent.
    kGoodbye = 1 << 4,  // The last frame; nothing else is sent once it is due.
  };

  bool empty() const { return due_ == 0; }
  bool due(Kind kind) const { return (due_ & kind) != 0; }
  void Add(Kind kind) { due_ |= kind; }
  // Was it due? It is no more.
  bool Take(Kind kind) {
    const bool was_due = due(kind);
    due_ &= static_cast<uint8_t>(~kind);
    return was_due;
  }

 private:
  uint8_t due_ = 0;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_CONTROL_FRAMES_H_
