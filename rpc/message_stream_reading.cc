// What comes in: messages, and who reads them.

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/message_stream.h"
#include "rpc/protobuf_bytes.h"

namespace verbena::rpc {

absl::Status MessageStream::Unreadable() {
  return absl::InvalidArgumentError("the bytes of a stream's message are not the method's message");
}

void MessageStream::ReadTo(MessageSink* sink, google::protobuf::MessageLite* scratch, Done done) {
  BeginRead({scratch, nullptr, std::move(done), sink});
}

void MessageStream::BeginRead(PendingRead&& read) {
  if (!loop_->IsHere()) {
    return PostOperation([this, read = std::move(read)]() mutable { StartRead(std::move(read)); });
  }
  StartRead(std::move(read));
  RunCompletionsLater();
}

void MessageStream::OnRead(uint64_t charge) {
  PostOperation([this, charge] {
    receiver_.OnRead(charge);
    TellWindow();
  });
}

void MessageStream::RefuseTaken(Done done) {
  PostOperation([this, done = std::move(done)]() mutable {
    refusing_ = std::move(done);
    OnUnreadable();
    AdvanceRefusal();
  });
}

void MessageStream::AdvanceRefusal() {
  if (closed_ && refusing_.has_value()) Complete(*std::exchange(refusing_, std::nullopt), absl::OkStatus());
}

void MessageStream::StartRead(PendingRead&& read) {
  if (read_.has_value()) {
    return Complete(std::move(read.done), absl::FailedPreconditionError("another read of this stream is under way"));
  }
  read_ = std::move(read);
  AdvanceReads();
}

void MessageStream::AdvanceReads() {
  if (beginning_.has_value()) AdvanceBeginning();
  if (!read_.has_value()) return;
  if (receiver_.has_next()) {
    Incoming incoming = receiver_.TakeNext();
    absl::Cord body = incoming.payload.Subcord(0, incoming.body_bytes);
    const absl::string_view bytes = body.Flatten();  // Mostly it is one piece.
    const auto share = [&incoming](size_t from) {
      incoming.payload.RemovePrefix(from);
      return std::move(incoming.payload);
    };
    FinishRead({{reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, incoming.payload.size(), share});
  } else if (closed_ || receiver_.at_end()) {
    PendingRead read = *std::exchange(read_, std::nullopt);
    Complete(std::move(read.done), absl::OutOfRangeError("the stream has ended"));
  }
}

void MessageStream::FinishRead(const ReceivedMessage& message) {
  const bool parsed_here = read_->sink == nullptr || observer_ != nullptr;
  if (parsed_here && !ParseMessage(message.body, read_->into)) return OnUnreadable();
  PendingRead& read = *read_;
  absl::Cord former;  // Whatever releases it runs when this read is done.
  if (read.sink != nullptr) {
    receiver_.Defer(message.payload_bytes);
    read.sink->Take(message);
  } else if (read.attachment != nullptr) {
    const bool has_attachment = message.payload_bytes > message.body.size();
    former = std::exchange(*read.attachment, has_attachment ? message.share(message.body.size()) : absl::Cord());
  }
  Complete(std::move(read.done), absl::OkStatus());
  const google::protobuf::MessageLite& into = *read.into;
  read_.reset();
  if (observer_ != nullptr) observer_->OnReceived(into);
  TellWindow();
}

void MessageStream::TellWindow() {
  if (wire_ == nullptr) return;
  if (const std::optional<uint64_t> limit = receiver_.TakeWindowUpdate()) wire_->SendWindow(*limit);
}

// The reader learns of it when the call has ended: he must not take it for the end of the stream.
void MessageStream::OnUnreadable() {
  receiver_.Drop();
  unreadable_ = true;
  if (wire_ != nullptr) return wire_->Fail(Unreadable());
  if (!read_.has_value()) return;
  PendingRead read = *std::exchange(read_, std::nullopt);
  Complete(std::move(read.done), Unreadable());
}

absl::Status MessageStream::JudgeSize(uint64_t payload_bytes) const {
  if (payload_bytes <= options_.message_bytes_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a message of the stream has ", payload_bytes,
                   " bytes; the receiver takes message_bytes_max = ", options_.message_bytes_max));
}

absl::Status MessageStream::OnAnnounced(absl::Span<const std::byte> header, uint64_t payload_bytes) {
  const absl::StatusOr<StreamHeader> decoded = DecodeStreamHeader(header);
  if (!decoded.ok()) return decoded.status();
  if (unreadable_) return Unreadable();
  TakeInitialMetadata(*decoded);
  if (absl::Status judged = JudgeSize(payload_bytes); !judged.ok()) return judged;
  if (absl::Status known = receiver_.OnAnnounced(decoded->number, payload_bytes); !known.ok()) return known;
  RunCompletions();
  return absl::OkStatus();
}

absl::Status MessageStream::OnInbound(MessageKind kind, absl::Span<const std::byte> header,
                                      transport::ReceivedPayload& payload) {
  const absl::StatusOr<StreamHeader> decoded = DecodeStreamHeader(header);
  if (!decoded.ok()) return decoded.status();
  absl::Status taken;
  if (kind == MessageKind::kStreamWindow) {
    sender_.OnWindow(decoded->value);
    window_opens_ = true;
    AdvanceWrites();
    window_opens_ = false;
  } else if (kind == MessageKind::kInitialMetadata) {
    OnInitialMetadata(*decoded);
  } else if (unreadable_) {
    return Unreadable();
  } else {
    taken = kind == MessageKind::kStreamMessage ? OnMessage(*decoded, payload) : OnEnd(decoded->number);
  }
  if (taken.ok()) RunCompletions();
  return taken;
}

absl::Status MessageStream::OnMessage(const StreamHeader& header, transport::ReceivedPayload& payload) {
  TakeInitialMetadata(header);
  const uint64_t payload_bytes = payload.bytes().size();
  if (absl::Status judged = JudgeSize(payload_bytes); !judged.ok()) return judged;
  if (header.value > payload_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("a stream header says that ", header.value,
                                                   " bytes of a payload of ", payload_bytes, " are the body"));
  }
  if (read_.has_value() && receiver_.TakeAtOnce(header.number, payload_bytes)) {
    BeginRow();
    const auto share = [&payload](size_t from) { return payload.Share(from); };
    FinishRead({payload.bytes().first(header.value), payload_bytes, share});
    return absl::OkStatus();
  }
  absl::Status received = receiver_.OnMessage(header.number, payload_bytes, {payload.Share(0), header.value});
  if (!received.ok()) return received;
  AdvanceReads();
  TellWindow();
  return absl::OkStatus();
}

absl::Status MessageStream::OnEnd(uint64_t count) {
  if (absl::Status ended = receiver_.OnEnd(count); !ended.ok()) return ended;
  AdvanceReads();
  return absl::OkStatus();
}

}  // namespace verbena::rpc
