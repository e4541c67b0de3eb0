#include "transport/wire/hello.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"

namespace verbena::wire {
namespace {

constexpr uint32_t kHelloMagic = 0x4e425256;      // "VRBN"
constexpr uint32_t kRejectionMagic = 0x58425256;  // "VRBX"

// Where the fields of a Hello stand. Bytes between and behind them are reserved: written as 0, ignored when read.
namespace hello_at {
constexpr size_t kMagic = 0;
constexpr size_t kVersionMin = 4;
constexpr size_t kVersionMax = 5;
constexpr size_t kInitialCredits = 6;
constexpr size_t kFeatures = 8;
constexpr size_t kReceiveBufferBytes = 12;
constexpr size_t kReadDepth = 16;  // Reserved: 2 bytes behind it.
constexpr size_t kKeepaliveMs = 20;
constexpr size_t kEpoch = 24;  // Reserved: 8 bytes behind it.
}  // namespace hello_at
static_assert(hello_at::kEpoch + sizeof(uint64_t) + 8 == kHelloBytes);

namespace rejection_at {
constexpr size_t kMagic = 0;
constexpr size_t kReason = 4;
constexpr size_t kVersionMin = 6;
constexpr size_t kVersionMax = 7;  // Reserved: 8 bytes behind it.
}  // namespace rejection_at
static_assert(rejection_at::kVersionMax + sizeof(uint8_t) + 8 == kRejectionBytes);

absl::Status CheckStart(absl::string_view what, absl::Span<const std::byte> private_data, size_t bytes_min,
                        uint32_t magic) {
  if (private_data.size() < bytes_min) {
    return absl::InvalidArgumentError(
        absl::StrCat("the private data is ", private_data.size(), " bytes long; a ", what, " has ", bytes_min));
  }
  if (LoadLittleEndian<uint32_t>(private_data.data()) != magic) {
    return absl::InvalidArgumentError(absl::StrCat("the private data is no Verbena ", what, ": its magic is wrong"));
  }
  return absl::OkStatus();
}

absl::Status CheckVersions(absl::string_view what, uint8_t version_min, uint8_t version_max) {
  if (version_min != 0 && version_min <= version_max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a ", what, " offers the impossible version range ",
                                                 static_cast<int>(version_min), " to ", static_cast<int>(version_max)));
}

}  // namespace

void EncodeHello(const Hello& hello, std::byte* to) {
  std::fill_n(to, kHelloBytes, std::byte{0});
  StoreLittleEndian<uint32_t>(kHelloMagic, to + hello_at::kMagic);
  StoreLittleEndian<uint8_t>(hello.version_min, to + hello_at::kVersionMin);
  StoreLittleEndian<uint8_t>(hello.version_max, to + hello_at::kVersionMax);
  StoreLittleEndian<uint16_t>(hello.initial_credits, to + hello_at::kInitialCredits);
  StoreLittleEndian<uint32_t>(hello.features, to + hello_at::kFeatures);
  StoreLittleEndian<uint32_t>(hello.receive_buffer_bytes, to + hello_at::kReceiveBufferBytes);
  StoreLittleEndian<uint16_t>(hello.read_depth, to + hello_at::kReadDepth);
  StoreLittleEndian<uint32_t>(hello.keepalive_ms, to + hello_at::kKeepaliveMs);
  StoreLittleEndian<uint64_t>(hello.epoch, to + hello_at::kEpoch);
}

absl::StatusOr<Hello> DecodeHello(absl::Span<const std::byte> private_data) {
  if (absl::Status status = CheckStart("hello", private_data, kHelloBytes, kHelloMagic); !status.ok()) return status;
  const std::byte* from = private_data.data();
  Hello hello;
  hello.version_min = LoadLittleEndian<uint8_t>(from + hello_at::kVersionMin);
  hello.version_max = LoadLittleEndian<uint8_t>(from + hello_at::kVersionMax);
  hello.initial_credits = LoadLittleEndian<uint16_t>(from + hello_at::kInitialCredits);
  hello.features = LoadLittleEndian<uint32_t>(from + hello_at::kFeatures);
  hello.receive_buffer_bytes = LoadLittleEndian<uint32_t>(from + hello_at::kReceiveBufferBytes);
  hello.read_depth = LoadLittleEndian<uint16_t>(from + hello_at::kReadDepth);
  hello.keepalive_ms = LoadLittleEndian<uint32_t>(from + hello_at::kKeepaliveMs);
  hello.epoch = LoadLittleEndian<uint64_t>(from + hello_at::kEpoch);
  if (absl::Status status = CheckVersions("hello", hello.version_min, hello.version_max); !status.ok()) return status;
  return hello;
}

void EncodeRejection(const Rejection& rejection, std::byte* to) {
  std::fill_n(to, kRejectionBytes, std::byte{0});
  StoreLittleEndian<uint32_t>(kRejectionMagic, to + rejection_at::kMagic);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(rejection.reason), to + rejection_at::kReason);
  StoreLittleEndian<uint8_t>(rejection.version_min, to + rejection_at::kVersionMin);
  StoreLittleEndian<uint8_t>(rejection.version_max, to + rejection_at::kVersionMax);
}

absl::StatusOr<Rejection> DecodeRejection(absl::Span<const std::byte> private_data) {
  absl::Status status = CheckStart("rejection", private_data, kRejectionBytes, kRejectionMagic);
  if (!status.ok()) return status;
  const std::byte* from = private_data.data();
  Rejection rejection;
  rejection.reason = static_cast<RejectReason>(LoadLittleEndian<uint16_t>(from + rejection_at::kReason));
  rejection.version_min = LoadLittleEndian<uint8_t>(from + rejection_at::kVersionMin);
  rejection.version_max = LoadLittleEndian<uint8_t>(from + rejection_at::kVersionMax);
  status = CheckVersions("rejection", rejection.version_min, rejection.version_max);
  if (!status.ok()) return status;
  return rejection;
}

absl::string_view ToString(RejectReason reason) {
  switch (reason) {
    case RejectReason::kVersion:
      return "no common protocol version";
    case RejectReason::kMalformed:
      return "the request is no Verbena handshake";
    case RejectReason::kTooManyConnections:
      return "too many connections";
    case RejectReason::kShuttingDown:
      return "shutting down";
    case RejectReason::kNoMemory:
      return "no receive buffers or pinned memory for one more connection";
    case RejectReason::kBadParameters:
      return "impossible parameters";
    case RejectReason::kDevice:
      return "the server's device failed to make a queue pair";
    case RejectReason::kAuthenticationRequired:
      return "the server wants authentication, and the client has no credentials";
  }
  return "unknown reason";
}

}  // namespace verbena::wire
