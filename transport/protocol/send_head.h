// What a Send is about; the bytes stay with the driver.

#ifndef VERBENA_TRANSPORT_PROTOCOL_SEND_HEAD_H_
#define VERBENA_TRANSPORT_PROTOCOL_SEND_HEAD_H_

#include <cstdint>

namespace verbena::protocol {

struct SendHead {
  uint8_t message_kind = 0;
  uint64_t call_id = 0;
  uint16_t header_bytes = 0;  // At most ConnectionMachine::header_bytes_max().
  uint64_t payload_bytes = 0;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_SEND_HEAD_H_
