#include "transport/soft/out_of_band_message.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace verbena::soft {
namespace {

constexpr uint32_t kMagic = 0x564f4f42;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kNumberMax = (1u << 24) - 1;

// Followed by the offer's bytes.
struct MessageHeader {
  uint32_t magic;
  uint32_t version;
  OfferKind kind;
  uint32_t from;
  uint32_t to;
};

}  // namespace

int SendOffer(int socket, OfferKind kind, uint32_t from, uint32_t to, const LinkOffer& offer) {
  MessageHeader header = {.magic = kMagic, .version = kVersion, .kind = kind, .from = from, .to = to};
  std::vector<std::byte> bytes(sizeof(header) + offer.bytes.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::copy(offer.bytes.begin(), offer.bytes.end(), bytes.begin() + sizeof(header));
  return SendPacket(socket, bytes, offer.fds);
}

Receipt ReceiveOffer(int socket, OfferMessage* message) {
  std::array<std::byte, sizeof(MessageHeader) + kLinkOfferBytesMax> bytes;
  size_t length = 0;
  Receipt receipt = ReceivePacket(socket, absl::MakeSpan(bytes), &length, &message->offer.fds);
  if (receipt != Receipt::kMessage) return receipt;
  MessageHeader header;
  if (length < sizeof(header)) return Receipt::kMalformed;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kMagic || header.version != kVersion || header.from > kNumberMax || header.to > kNumberMax ||
      (header.kind != OfferKind::kOffer && header.kind != OfferKind::kAnswer)) {
    return Receipt::kMalformed;
  }
  message->kind = header.kind;
  message->from = header.from;
  message->to = header.to;
  message->offer.bytes.assign(bytes.begin() + sizeof(header), bytes.begin() + static_cast<ptrdiff_t>(length));
  return Receipt::kMessage;
}

}  // namespace verbena::soft
