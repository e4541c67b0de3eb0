#include "transport/soft/cm_message.h"

#include <endian.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/status/status.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kMagic = 0x4d435356;  // "VSCM"
constexpr uint8_t kVersion = 1;

struct WireAddress {
  uint16_t family;
  uint16_t port;
  uint32_t scope;
  uint8_t address[16];
};

// Followed by the private data and the offer.
struct WireHeader {
  uint32_t magic;
  uint8_t version;
  uint8_t type;
  uint8_t reject_reason;
  uint8_t private_data_length;
  uint16_t offer_length;
  uint8_t responder_resources;
  uint8_t initiator_depth;
  uint8_t flow_control;
  uint8_t retry_count;
  uint8_t rnr_retry_count;
  uint8_t srq;
  uint32_t qp_num;
  uint32_t reserved;
  WireAddress source;
  WireAddress destination;
};
static_assert(sizeof(WireHeader) + kReplyPrivateDataMax + kLinkOfferBytesMax == kCmMessageBytesMax);

void SwapOrder(WireAddress* address) {
  address->family = htole16(address->family);
  address->port = htole16(address->port);
  address->scope = htole32(address->scope);
}

// From this machine's byte order to the wire's, or back: little-endian.
void SwapOrder(WireHeader* header) {
  header->magic = htole32(header->magic);
  header->offer_length = htole16(header->offer_length);
  header->qp_num = htole32(header->qp_num);
  SwapOrder(&header->source);
  SwapOrder(&header->destination);
}

bool CarriesOffer(MessageType type) { return type == MessageType::kRequest || type == MessageType::kReply; }

WireAddress ToWire(const SocketAddress& address) {
  WireAddress wire = {};
  wire.family = address.family;
  wire.port = address.port;
  wire.scope = address.scope;
  std::copy(address.address.begin(), address.address.end(), wire.address);
  return wire;
}

SocketAddress FromWire(const WireAddress& wire) {
  SocketAddress address;
  address.family = wire.family;
  address.port = wire.port;
  address.scope = wire.scope;
  std::copy(std::begin(wire.address), std::end(wire.address), address.address.begin());
  return address;
}

bool IsFamily(uint16_t family) { return family == AF_INET || family == AF_INET6; }

absl::Status CheckHeader(const WireHeader& header, size_t total_bytes) {
  if (header.magic != kMagic) return absl::InvalidArgumentError("control message: not one of this device");
  if (header.version != kVersion) return absl::InvalidArgumentError("control message: another version");
  if (header.type < static_cast<uint8_t>(MessageType::kRequest) ||
      header.type > static_cast<uint8_t>(MessageType::kReject)) {
    return absl::InvalidArgumentError("control message: unknown type");
  }
  auto type = static_cast<MessageType>(header.type);
  if (header.private_data_length > PrivateDataMax(type)) {
    return absl::InvalidArgumentError("control message: more private data than its type has room for");
  }
  if (header.offer_length > (CarriesOffer(type) ? kLinkOfferBytesMax : 0)) {
    return absl::InvalidArgumentError("control message: link offer too long");
  }
  if (total_bytes != sizeof(header) + header.private_data_length + header.offer_length) {
    return absl::InvalidArgumentError("control message: its lengths contradict its size");
  }
  if (header.retry_count > kRetryCountMax || header.rnr_retry_count > kRetryCountMax) {
    return absl::InvalidArgumentError("control message: retry count past 7");
  }
  if (type == MessageType::kRequest && (!IsFamily(header.source.family) || !IsFamily(header.destination.family))) {
    return absl::InvalidArgumentError("control message: address of an unknown family");
  }
  return absl::OkStatus();
}

}  // namespace

size_t PrivateDataMax(MessageType type) {
  switch (type) {
    case MessageType::kRequest:
      return kRequestPrivateDataMax;
    case MessageType::kReply:
      return kReplyPrivateDataMax;
    case MessageType::kReadyToUse:
      return 0;
    case MessageType::kReject:
      return kRejectPrivateDataMax;
  }
  return 0;
}

std::vector<std::byte> EncodeMessage(const CmMessage& message) {
  assert(message.private_data.length <= PrivateDataMax(message.type));
  assert(message.offer.size() <= kLinkOfferBytesMax);
  WireHeader header = {};
  header.magic = kMagic;
  header.version = kVersion;
  header.type = static_cast<uint8_t>(message.type);
  header.reject_reason = message.reject_reason;
  header.private_data_length = message.private_data.length;
  header.offer_length = static_cast<uint16_t>(message.offer.size());
  header.responder_resources = message.parameters.responder_resources;
  header.initiator_depth = message.parameters.initiator_depth;
  header.flow_control = message.parameters.flow_control;
  header.retry_count = message.parameters.retry_count;
  header.rnr_retry_count = message.parameters.rnr_retry_count;
  header.srq = message.parameters.srq;
  header.qp_num = message.parameters.qp_num;
  header.source = ToWire(message.source);
  header.destination = ToWire(message.destination);
  SwapOrder(&header);
  const absl::Span<const std::byte> private_data = message.private_data.span();
  std::vector<std::byte> bytes(sizeof(header) + private_data.size() + message.offer.size());
  memcpy(bytes.data(), &header, sizeof(header));
  std::copy(private_data.begin(), private_data.end(), bytes.begin() + sizeof(header));
  std::copy(message.offer.begin(), message.offer.end(), bytes.begin() + sizeof(header) + private_data.size());
  return bytes;
}

absl::StatusOr<CmMessage> DecodeMessage(absl::Span<const std::byte> bytes) {
  WireHeader header;
  if (bytes.size() < sizeof(header)) return absl::InvalidArgumentError("control message: shorter than its header");
  memcpy(&header, bytes.data(), sizeof(header));
  SwapOrder(&header);
  if (absl::Status status = CheckHeader(header, bytes.size()); !status.ok()) return status;
  CmMessage message;
  message.type = static_cast<MessageType>(header.type);
  message.reject_reason = header.reject_reason;
  message.parameters = {header.responder_resources,
                        header.initiator_depth,
                        header.flow_control,
                        header.retry_count,
                        header.rnr_retry_count,
                        header.srq,
                        header.qp_num};
  if (message.type == MessageType::kRequest) {
    message.source = FromWire(header.source);
    message.destination = FromWire(header.destination);
  }
  const std::byte* private_data = bytes.data() + sizeof(header);
  const std::byte* offer = private_data + header.private_data_length;
  message.private_data.length = header.private_data_length;
  std::copy(private_data, offer, message.private_data.bytes.begin());
  message.offer.assign(offer, offer + header.offer_length);
  return message;
}

}  // namespace verbena::soft
