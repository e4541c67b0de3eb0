#include "tests/hostile/frames.h"

#include "absl/strings/str_cat.h"
#include "rpc/core/call_header.h"
#include "rpc/core/message_kind.h"
#include "tests/integration/probe.pb.h"

namespace verbena::hostile {
namespace {

constexpr int64_t kHoldMilliseconds = 60000;

}  // namespace

wire::FrameHeader ControlHeader(wire::FrameType type, uint32_t aux, uint64_t call_id) {
  wire::FrameHeader header;
  header.type = type;
  header.aux = aux;
  header.call_id = call_id;
  return header;
}

Bytes Authenticate(wire::AuthenticationStep step, absl::string_view message) {
  wire::FrameHeader header = ControlHeader(wire::FrameType::kAuthenticate, static_cast<uint32_t>(step));
  header.credit_grant = 1;  // For the answer.
  header.call_header_bytes = static_cast<uint16_t>(message.size());
  return wire::FrameBytes(header, {wire::BytesOf(message)});
}

Bytes Control(wire::FrameType type, uint32_t aux, uint64_t call_id) {
  return wire::FrameBytes(ControlHeader(type, aux, call_id));
}

Bytes Finish(uint32_t transfer, uint64_t call_id, wire::FinishReason reason) {
  wire::FrameHeader header = ControlHeader(wire::FrameType::kFinish, transfer, call_id);
  header.message_kind = static_cast<uint8_t>(reason);
  return wire::FrameBytes(header);
}

Bytes RequestHeader(absl::string_view method, uint64_t body_bytes) {
  const std::string name = absl::StrCat("verbena.probe.Probe/", method);
  rpc::RequestHeader header;
  header.method = name;
  header.body_bytes = body_bytes;
  Bytes bytes(rpc::EncodedBytes(header));
  rpc::EncodeRequestHeader(header, absl::MakeSpan(bytes)).IgnoreError();
  return bytes;
}

Bytes Request(uint64_t call_id, absl::string_view method, const google::protobuf::MessageLite& message) {
  const Bytes body = wire::BytesOf(message.SerializeAsString());
  const Bytes call_header = RequestHeader(method, body.size());
  wire::FrameHeader header;
  header.type = wire::FrameType::kEager;
  header.message_kind = static_cast<uint8_t>(rpc::MessageKind::kRequest);
  header.call_id = call_id;
  header.call_header_bytes = static_cast<uint16_t>(call_header.size());
  header.payload_bytes = body.size();
  return wire::FrameBytes(header, {call_header, body});
}

Bytes EchoRequest(uint64_t call_id) {
  probe::EchoRequest request;
  request.set_body("hello");
  return Request(call_id, "Echo", request);
}

Bytes FetchRequest(uint64_t call_id, uint64_t bytes) {
  probe::FetchRequest request;
  request.set_bytes(bytes);
  return Request(call_id, "Fetch", request);
}

Bytes HoldRequest(uint64_t call_id) {
  probe::HoldRequest request;
  request.set_milliseconds(kHoldMilliseconds);
  return Request(call_id, "Hold", request);
}

Bytes Cancel(uint64_t call_id) {
  wire::FrameHeader header;
  header.type = wire::FrameType::kEager;
  header.message_kind = static_cast<uint8_t>(rpc::MessageKind::kCancel);
  header.call_id = call_id;
  return wire::FrameBytes(header);
}

namespace {

Bytes AnnouncementOf(rpc::MessageKind kind, const Bytes& call_header, uint64_t call_id, uint32_t transfer,
                     const std::vector<wire::Segment>& segments, uint16_t flags) {
  uint64_t bytes = 0;
  Bytes body(segments.size() * wire::kSegmentBytes);
  for (size_t i = 0; i < segments.size(); ++i) {
    wire::EncodeSegment(segments[i], body.data() + i * wire::kSegmentBytes);
    bytes += segments[i].length;
  }
  wire::FrameHeader header;
  header.type = wire::FrameType::kAnnounce;
  header.flags = flags;
  header.message_kind = static_cast<uint8_t>(kind);
  header.call_id = call_id;
  header.aux = transfer;
  header.call_header_bytes = static_cast<uint16_t>(call_header.size());
  header.payload_bytes = bytes - wire::kIdentityBytes;
  return wire::FrameBytes(header, {call_header, body});
}

}  // namespace

Bytes Announcement(uint64_t call_id, uint32_t transfer, const std::vector<wire::Segment>& segments, uint16_t flags) {
  return AnnouncementOf(rpc::MessageKind::kRequest, RequestHeader("Echo", 0), call_id, transfer, segments, flags);
}

Bytes ResponseAnnouncement(uint64_t call_id, uint32_t transfer, const std::vector<wire::Segment>& segments) {
  const rpc::ResponseHeader response;
  Bytes call_header(rpc::EncodedBytes(response));
  rpc::EncodeResponseHeader(response, absl::MakeSpan(call_header)).IgnoreError();
  return AnnouncementOf(rpc::MessageKind::kResponse, call_header, call_id, transfer, segments, 0);
}

void WriteIdentity(uint64_t epoch, uint64_t call_id, uint64_t payload_bytes, std::byte* to) {
  wire::Identity identity;
  identity.epoch = epoch;
  identity.call_id = call_id;
  identity.payload_bytes = payload_bytes;
  wire::EncodeIdentity(identity, to);
}

}  // namespace verbena::hostile
