// Frames that a client sends, as bytes, for tests to send as they are or to spoil.

#ifndef VERBENA_TESTS_HOSTILE_FRAMES_H_
#define VERBENA_TESTS_HOSTILE_FRAMES_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "transport/wire/frame.h"
#include "transport/wire/frame_bytes.h"

namespace verbena::hostile {

using wire::Bytes;

// A turn of the authentication.
Bytes Authenticate(wire::AuthenticationStep step, absl::string_view message);

// A frame of a type that has neither call header nor body.
wire::FrameHeader ControlHeader(wire::FrameType type, uint32_t aux = 0, uint64_t call_id = 0);
Bytes Control(wire::FrameType type, uint32_t aux = 0, uint64_t call_id = 0);
// A finish that says `reason`.
Bytes Finish(uint32_t transfer, uint64_t call_id, wire::FinishReason reason);

// The call header of a request to the probe service.
Bytes RequestHeader(absl::string_view method, uint64_t body_bytes);
// An eager request to it.
Bytes Request(uint64_t call_id, absl::string_view method, const google::protobuf::MessageLite& message);
// A small, valid call of Echo.
Bytes EchoRequest(uint64_t call_id);
// A call of Fetch, whose response has so many bytes.
Bytes FetchRequest(uint64_t call_id, uint64_t bytes);
// A call that is answered after a minute, or when it is cancelled.
Bytes HoldRequest(uint64_t call_id);
Bytes Cancel(uint64_t call_id);

// The announcement of a request to Echo, whose payload is an attachment that stands in `segments`, identity block
// included.
Bytes Announcement(uint64_t call_id, uint32_t transfer, const std::vector<wire::Segment>& segments, uint16_t flags = 0);

// The announcement of an OK response whose payload is an attachment likewise.
Bytes ResponseAnnouncement(uint64_t call_id, uint32_t transfer, const std::vector<wire::Segment>& segments);

// Writes the identity block that belongs to such an announcement.
void WriteIdentity(uint64_t epoch, uint64_t call_id, uint64_t payload_bytes, std::byte* to);

}  // namespace verbena::hostile

#endif  // VERBENA_TESTS_HOSTILE_FRAMES_H_
