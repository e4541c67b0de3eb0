// What a Send is about; the bytes stay with the driver.

#ifndef VERBENA_TRANSPORT_PROTOCOL_SEND_HEAD_H_
#define VERBENA_TRANSPORT_PROTOCOL_SEND_HEAD_H_

#include <cstdint>

#include "transport/wire/frame.h"

namespace verbena::protocol {

struct SendHead {
  uint8_t message_kind = 0;
  uint64_t call_id = 0;
  uint16_t header_bytes = 0;  // At most ConnectionMachine::header_bytes_max().
  uint64_t payload_bytes = 0;
  bool refusable = false;  // Where too many wait already.

  // Of the frame that carries all of it, where there is one.
  uint64_t eager_frame_bytes() const { return wire::kFrameHeaderBytes + header_bytes + payload_bytes; }
  // That frame's header. The grant is left to the caller.
  wire::FrameHeader EagerHeader() const {
    wire::FrameHeader header;
    header.type = wire::FrameType::kEager;
    header.call_header_bytes = header_bytes;
    header.message_kind = message_kind;
    header.call_id = call_id;
    header.payload_bytes = payload_bytes;
    return header;
  }
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_SEND_HEAD_H_
