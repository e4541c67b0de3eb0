// The agreement before a connection carries frames: what goes in the private data of connect, accept and reject.
//
// The client offers a Hello; the server answers with its own, the version and the features chosen, or a Rejection with
// a reason. Both check what they get: a peer's numbers are never trusted. The epoch is the client's choice, echoed.
//
// Owner: the connector or listener, for the time of one handshake; a value. Thread: any, one at a time. Errors: in
// words for people, with both sides' versions where versions are the reason.

#ifndef VERBENA_TRANSPORT_PROTOCOL_HANDSHAKE_H_
#define VERBENA_TRANSPORT_PROTOCOL_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/wire/hello.h"

namespace verbena::protocol {

// This side's part, apart from what one connection's own Hello says.
struct HandshakeOptions {
  uint8_t version_min = 1;
  uint8_t version_max = 1;
  // kFeature… that this side can do and wants. It insists on kFeatureAuthentication: a peer without is refused.
  uint32_t features = 0;
  uint32_t receive_buffer_bytes = 0;  // At least kReceiveBufferBytesMin.
  uint16_t read_depth = 1;            // READs that the peer may have outstanding here; at least 1.
  uint32_t keepalive_ms = 0;          // 0 = never probe.
};

// What both sides know when the handshake has succeeded: the two Hellos for ConnectionConfig, as sent.
struct Agreement {
  wire::Hello ours;
  wire::Hello peers;
  uint8_t version = 1;
  uint32_t features = 0;  // In force.
};

class ClientHandshake {
 public:
  // `initial_credits`: granted() of the connection's GrantShare. `epoch`: random, not 0.
  ClientHandshake(const HandshakeOptions& options, uint16_t initial_credits, uint64_t epoch);

  const wire::Hello& offer() const { return offer_; }  // To go in the connect request.
  // The server accepted with this private data. FailedPrecondition: its answer does not match the offer.
  // Unauthenticated: this client wants authentication, and the server did not choose it.
  absl::StatusOr<Agreement> OnAccepted(absl::Span<const std::byte> private_data) const;
  // The server rejected with this private data: the error to report. FailedPrecondition, ResourceExhausted,
  // Unauthenticated or Unavailable by the reason; Unavailable if no reason was given.
  absl::Status OnRejected(absl::Span<const std::byte> private_data) const;

 private:
  wire::Hello offer_;
};

class ServerHandshake {
 public:
  explicit ServerHandshake(const HandshakeOptions& options) : options_(options) {}

  // A connect request with this private data: the agreement, but for our initial credits, or the rejection to send.
  std::variant<Agreement, wire::Rejection> OnOffer(absl::Span<const std::byte> private_data) const;
  // A rejection for a reason that the caller knows (too many connections, no memory, …).
  wire::Rejection Reject(wire::RejectReason reason) const;

 private:
  HandshakeOptions options_;
};

// The server's `agreement.ours` with the initial credits of the connection's GrantShare; to go in the accept.
wire::Hello AnswerOf(const Agreement& agreement, uint16_t initial_credits);

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_HANDSHAKE_H_
