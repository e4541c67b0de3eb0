// The small frames that are due: a flag for each kind, not a queue, so that no behaviour of a peer makes it grow.
//
// Owner: the connection machine. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_PROTOCOL_CONTROL_FRAMES_H_
#define VERBENA_TRANSPORT_PROTOCOL_CONTROL_FRAMES_H_

#include <optional>

#include "transport/wire/frame.h"

namespace verbena::protocol {

struct ControlFrames {
  bool pong = false;
  bool ping = false;
  bool reclaim = false;
  bool give_back = false;                      // A kReturn, of what is idle when it is sent.
  std::optional<wire::GoodbyeReason> goodbye;  // The last frame; nothing else is sent once it is due.
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_CONTROL_FRAMES_H_
