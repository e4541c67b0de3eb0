// The handshake's bytes: what each side says in the connection manager's private data before there is a connection.
// Specification: docs/wire.md, "Handshake". Pure.
//
//   client: Hello in the connect request -> server: Hello in the accept, or Rejection in the reject
//
// These bytes are read before a version is agreed on, so their layout is fixed for all versions; what a later version
// adds stands in reserved bytes or behind, and is ignored by this one. Only the form is checked here; whether the
// numbers make sense together is the handshake's to judge (transport/protocol/handshake.h).

#ifndef VERBENA_TRANSPORT_WIRE_HELLO_H_
#define VERBENA_TRANSPORT_WIRE_HELLO_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace verbena::wire {

// What a connect request has room for: RDMA_PS_TCP over InfiniBand has 92 bytes less the connection manager's own 36.
inline constexpr size_t kPrivateDataBytesMax = 56;
inline constexpr size_t kHelloBytes = 40;
inline constexpr size_t kRejectionBytes = 16;
static_assert(kHelloBytes <= kPrivateDataBytesMax && kRejectionBytes <= kPrivateDataBytesMax);

inline constexpr uint32_t kFeatureChecksum = 1u << 0;        // Identity blocks carry the payload's CRC32C.
inline constexpr uint32_t kFeatureAuthentication = 1u << 1;  // Nothing but the exchange crosses until both are content.
inline constexpr uint32_t kFeaturePacking = 1u << 2;         // One SEND may carry several eager frames.
inline constexpr uint32_t kFeatureSolicited = 1u << 3;       // Every SEND asks for a solicited event.
inline constexpr uint32_t kFeatureRendezvousPacking = 1u << 4;  // With packing: announcements and finishes too.

// Of which frames a SEND may carry several.
enum class Packing : uint8_t {
  kNone,
  kEager,
  kRendezvous,  // Eager frames, announcements and finishes, in any order.
};
constexpr Packing PackingOf(uint32_t features) {
  if ((features & kFeaturePacking) == 0) return Packing::kNone;
  return (features & kFeatureRendezvousPacking) == 0 ? Packing::kEager : Packing::kRendezvous;
}

// In a connect request: what the client offers. In an accept: what was chosen and the server's own numbers.
struct Hello {
  uint8_t version_min = 1;
  uint8_t version_max = 1;
  uint16_t initial_credits = 0;       // SENDs that the receiver of this hello may post at once.
  uint32_t features = 0;              // Client: supported. Server: the intersection that is in force.
  uint32_t receive_buffer_bytes = 0;  // The longest SEND that the sender of this hello can receive.
  uint16_t read_depth = 0;            // RDMA READs that the receiver of this hello may have outstanding at its sender.
  uint32_t keepalive_ms = 0;          // The sender probes after this much silence; 0 = never.
  uint64_t epoch = 0;  // This life of the connection: random, chosen by the client, echoed by the server.
};

enum class RejectReason : uint16_t {
  kVersion = 1,    // No common version.
  kMalformed = 2,  // The request's private data is no Hello.
  kTooManyConnections = 3,
  kShuttingDown = 4,
  kNoMemory = 5,                // No receive buffers or pinned memory for one more connection.
  kBadParameters = 6,           // A Hello with impossible numbers (receive buffer too small, no credits).
  kDevice = 7,                  // The server's device failed to make a queue pair.
  kAuthenticationRequired = 8,  // The server wants authentication, which the client does not offer.
};

struct Rejection {
  RejectReason reason = RejectReason::kMalformed;
  uint8_t version_min = 1;  // What the server speaks, so that the client can say both in its error.
  uint8_t version_max = 1;
};

void EncodeHello(const Hello& hello, std::byte* to);  // kHelloBytes at `to`.
// `private_data` may be longer: fabrics pad it with zeros. InvalidArgument in words: too short, another protocol's, or
// a version range that is empty.
absl::StatusOr<Hello> DecodeHello(absl::Span<const std::byte> private_data);

void EncodeRejection(const Rejection& rejection, std::byte* to);  // kRejectionBytes at `to`.
// As DecodeHello. A reason that this version does not know is kept; its name is "unknown reason".
absl::StatusOr<Rejection> DecodeRejection(absl::Span<const std::byte> private_data);

absl::string_view ToString(RejectReason reason);

}  // namespace verbena::wire

#endif  // VERBENA_TRANSPORT_WIRE_HELLO_H_
