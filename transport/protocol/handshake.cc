#include "transport/protocol/handshake.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "transport/protocol/limits.h"

namespace verbena::protocol {

namespace {

wire::Hello HelloOf(const HandshakeOptions& options) {
  wire::Hello hello;
  hello.version_min = options.version_min;
  hello.version_max = options.version_max;
  hello.features = options.features;
  hello.receive_buffer_bytes = options.receive_buffer_bytes;
  hello.read_depth = options.read_depth;
  hello.keepalive_ms = options.keepalive_ms;
  return hello;
}

// Numbers that no version of this protocol can work with.
bool Possible(const wire::Hello& hello) {
  return hello.version_min >= 1 && hello.version_min <= hello.version_max &&
         hello.receive_buffer_bytes >= kReceiveBufferBytesMin && hello.initial_credits >= kCreditsPerConnectionMin &&
         hello.read_depth >= 1 && hello.epoch != 0;
}

absl::Status BadAnswer(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("the server's answer to the handshake is wrong: ", what));
}

absl::Status StatusOf(const wire::Rejection& rejection, const wire::Hello& offer) {
  const std::string text = absl::StrCat("the server rejected the connection: ", wire::ToString(rejection.reason));
  switch (rejection.reason) {
    case wire::RejectReason::kVersion:
      return absl::FailedPreconditionError(absl::StrCat(text, " (it speaks ", rejection.version_min, " to ",
                                                        rejection.version_max, ", this client ", offer.version_min,
                                                        " to ", offer.version_max, ")"));
    case wire::RejectReason::kMalformed:
    case wire::RejectReason::kBadParameters:
      return absl::FailedPreconditionError(text);
    case wire::RejectReason::kTooManyConnections:
    case wire::RejectReason::kNoMemory:
      return absl::ResourceExhaustedError(text);
    case wire::RejectReason::kAuthenticationRequired:
      return absl::UnauthenticatedError(text);
    case wire::RejectReason::kShuttingDown:
    case wire::RejectReason::kDevice:
      return absl::UnavailableError(text);
  }
  return absl::UnavailableError(
      absl::StrCat("the server rejected the connection for an unknown reason, ", rejection.reason));
}

}  // namespace

ClientHandshake::ClientHandshake(const HandshakeOptions& options, uint16_t initial_credits, uint64_t epoch)
    : offer_(HelloOf(options)) {
  offer_.initial_credits = initial_credits;
  offer_.epoch = epoch;
}

absl::StatusOr<Agreement> ClientHandshake::OnAccepted(absl::Span<const std::byte> private_data) const {
  absl::StatusOr<wire::Hello> answer = wire::DecodeHello(private_data);
  if (!answer.ok()) return BadAnswer(answer.status().message());
  if (!Possible(*answer)) return BadAnswer("impossible numbers");
  if (answer->epoch != offer_.epoch) return BadAnswer("another connection's epoch");
  if (answer->version_min != answer->version_max) return BadAnswer("it chose no version");
  if (answer->version_min < offer_.version_min || answer->version_max > offer_.version_max) {
    return BadAnswer(absl::StrCat("it chose version ", answer->version_min, ", which was not offered"));
  }
  if ((answer->features & ~offer_.features) != 0) return BadAnswer("it chose features that were not offered");
  if ((offer_.features & ~answer->features & wire::kFeatureAuthentication) != 0) {
    return absl::UnauthenticatedError("this client has credentials, and the server does not authenticate anybody");
  }
  return Agreement{offer_, *answer, answer->version_min, answer->features};
}

absl::Status ClientHandshake::OnRejected(absl::Span<const std::byte> private_data) const {
  absl::StatusOr<wire::Rejection> rejection = wire::DecodeRejection(private_data);
  if (!rejection.ok()) return absl::UnavailableError("the server rejected the connection without a reason");
  return StatusOf(*rejection, offer_);
}

std::variant<Agreement, wire::Rejection> ServerHandshake::OnOffer(absl::Span<const std::byte> private_data) const {
  absl::StatusOr<wire::Hello> offer = wire::DecodeHello(private_data);
  if (!offer.ok()) return Reject(wire::RejectReason::kMalformed);
  if (!Possible(*offer)) return Reject(wire::RejectReason::kBadParameters);
  const uint8_t version = std::min(offer->version_max, options_.version_max);
  if (version < offer->version_min || version < options_.version_min) return Reject(wire::RejectReason::kVersion);
  if ((options_.features & ~offer->features & wire::kFeatureAuthentication) != 0) {
    return Reject(wire::RejectReason::kAuthenticationRequired);
  }

  Agreement agreement;
  agreement.peers = *offer;
  agreement.version = version;
  agreement.features = offer->features & options_.features;
  agreement.ours = HelloOf(options_);
  agreement.ours.version_min = agreement.ours.version_max = version;
  agreement.ours.features = agreement.features;
  agreement.ours.epoch = offer->epoch;
  return agreement;
}

wire::Rejection ServerHandshake::Reject(wire::RejectReason reason) const {
  return wire::Rejection{reason, options_.version_min, options_.version_max};
}

wire::Hello AnswerOf(const Agreement& agreement, uint16_t initial_credits) {
  wire::Hello answer = agreement.ours;
  answer.initial_credits = initial_credits;
  return answer;
}

}  // namespace verbena::protocol
