// The end that this side has decided: why, in a code and in words, and until when the Goodbye may take to leave. And
// the words of a peer's.
//
// Owner: the connection machine. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_PROTOCOL_GOODBYE_H_
#define VERBENA_TRANSPORT_PROTOCOL_GOODBYE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transport/protocol/limits.h"
#include "transport/wire/frame.h"

namespace verbena::protocol {

class Goodbye {
 public:
  // Once. An OK status is the good end and has no words.
  void Decide(absl::Status status, wire::GoodbyeReason reason, absl::Time deadline) {
    status_ = std::move(status);
    reason_ = reason;
    deadline_ = deadline;
  }

  const absl::Status& status() const { return status_; }
  // What the connection ended with, when it ended without a Goodbye of ours.
  void set_status(absl::Status status) { status_ = std::move(status); }
  absl::Time deadline() const { return deadline_; }

  wire::FrameHeader header() const {
    wire::FrameHeader header;
    header.type = wire::FrameType::kGoodbye;
    header.aux = static_cast<uint32_t>(reason_);
    return header;
  }
  // At most kGoodbyeWordsBytesMax; valid as long as this.
  absl::string_view words() const { return status_.message().substr(0, kGoodbyeWordsBytesMax); }

 private:
  absl::Status status_;
  wire::GoodbyeReason reason_ = wire::GoodbyeReason::kClosed;
  absl::Time deadline_ = absl::InfiniteFuture();
};

// A peer's words as they may stand in a log: cut to kGoodbyeWordsBytesMax, what is not printable ASCII replaced.
inline std::string ReadGoodbyeWords(absl::Span<const std::byte> call_header) {
  std::string words;
  for (const std::byte byte : call_header.first(std::min(call_header.size(), kGoodbyeWordsBytesMax))) {
    const char letter = static_cast<char>(byte);
    words.push_back(letter >= ' ' && letter <= '~' ? letter : '?');
  }
  return words;
}

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_GOODBYE_H_
