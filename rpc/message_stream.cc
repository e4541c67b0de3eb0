#include "rpc/message_stream.h"

#include "absl/strings/str_cat.h"
#include "rpc/core/metadata_codec.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/outgoing_message.h"
#include "rpc/protobuf_bytes.h"

namespace verbena::rpc {
namespace {

// Messages, and bytes, that complete in place before a task runs the next completion: about what one SEND carries.
constexpr uint32_t kRowMax = 16;
constexpr size_t kRowBytesMax = 4096;

// Not OK: the message never leaves; the gap would never be filled.
absl::Status WhyLost(transport::SendOutcome outcome) {
  switch (outcome) {
    case transport::SendOutcome::kNoMemory:
      return absl::ResourceExhaustedError("no payload memory to send a message of the stream from");
    case transport::SendOutcome::kNotSent:
      return absl::UnavailableError("a message of the stream was not sent");
    case transport::SendOutcome::kDelivered:
    case transport::SendOutcome::kRefused:
    case transport::SendOutcome::kUnknown:  // The connection's end, or the peer, says more.
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStreamWindow(absl::string_view options, uint64_t stream_window_bytes) {
  if (stream_window_bytes >= kStreamWindowInitial && stream_window_bytes <= kStreamWindowMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(options, "::stream_window_bytes must be from ", kStreamWindowInitial,
                                                 " to ", kStreamWindowMax, "; it is ", stream_window_bytes));
}

absl::Status MessageStream::CallIsOver() { return absl::CancelledError("the call is over"); }

MessageStream::MessageStream(std::shared_ptr<transport::LoopHandle> loop, const StreamOptions& options)
    : loop_(std::move(loop)), options_(options), receiver_(options.window_bytes) {}

MessageStream::~MessageStream() = default;

void MessageStream::Post(absl::AnyInvocable<void()> task) {
  const std::shared_ptr<MessageStream> self = shared_from_this();  // The task may be over before Post is.
  if (!loop_->Post(task)) task();
}

void MessageStream::PostOperation(absl::AnyInvocable<void()> operation) {
  PostInTurn([this, operation = std::move(operation)]() mutable {
    in_posted_operation_ = true;
    operation();
    in_posted_operation_ = false;
    RunCompletions();
  });
}

void MessageStream::Read(google::protobuf::MessageLite* into, absl::Cord* attachment, Done done) {
  BeginRead({into, attachment, std::move(done)});
}

void MessageStream::Write(const google::protobuf::MessageLite* message, absl::Cord attachment, Done done) {
  BeginWrite({message, std::move(attachment), nullptr, std::move(done)});
}

void MessageStream::WriteBody(const absl::Span<const std::byte>* body, absl::Cord attachment,
                              const google::protobuf::MessageLite* kind, Done done) {
  BeginWrite({kind, std::move(attachment), body, std::move(done)});
}

void MessageStream::BeginWrite(PendingWrite&& write) {
  if (!loop_->IsHere()) {
    return PostOperation([this, write = std::move(write)]() mutable { StartWrite(std::move(write)); });
  }
  StartWrite(std::move(write));
  RunCompletionsLater();
}

void MessageStream::PostTurn(Done turn) {
  PostInTurn([this, turn = std::move(turn)]() mutable {
    BeginRow();
    Complete(std::move(turn), absl::OkStatus());
    RunCompletions();
  });
}

void MessageStream::EndWrites() {
  OnLoop([this] {
    writes_ended_ = true;
    AdvanceWrites();
  });
}

void MessageStream::SendInitialMetadata() {
  OnLoop([this] {
    if (wire_ != nullptr) wire_->SendInitialMetadata();
  });
}

void MessageStream::AwaitInitialMetadata(Done done) {
  OnLoop([this, done = std::move(done)]() mutable { StartAwaitingInitialMetadata(std::move(done)); });
}

void MessageStream::StartAwaitingInitialMetadata(Done done) {
  if (beginning_.has_value()) {
    return Complete(std::move(done), absl::FailedPreconditionError("the initial metadata is awaited already"));
  }
  beginning_ = std::move(done);
  AdvanceBeginning();
}

void MessageStream::AdvanceBeginning() {
  if (!beginning_.has_value() || (!has_initial_metadata_ && !closed_)) return;
  Complete(*std::exchange(beginning_, std::nullopt), has_initial_metadata_ ? absl::OkStatus() : CallIsOver());
}

// The first message brings it, also one that is too large to be taken.
void MessageStream::TakeInitialMetadata(const StreamHeader& header) {
  if (header.number == 0) OnInitialMetadata(header);
}

// It comes with the first message, and perhaps ahead of that; which of them arrives first is the transport's choice.
void MessageStream::OnInitialMetadata(const StreamHeader& header) {
  if (std::exchange(has_initial_metadata_, true)) return;
  if (initial_metadata_ != nullptr) ReadMetadata(header.fields, HeaderFieldType::kInitialMetadata, initial_metadata_);
  AdvanceBeginning();
}

absl::Status MessageStream::CheckWrite(const PendingWrite& write) const {
  if (closed_ || !lost_.ok()) return CallIsOver();
  if (writes_ended_) return absl::FailedPreconditionError("the stream was written to after its end was declared");
  if (write_.has_value() || unserialized_ != nullptr) {
    return absl::FailedPreconditionError("another write of this stream is under way");
  }
  return write.body != nullptr ? absl::OkStatus() : CheckMessage(*write.message, write.attachment.size());
}

absl::Status MessageStream::CheckMessage(const google::protobuf::MessageLite& message, size_t attachment_bytes) const {
  if (!message.IsInitialized()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the message lacks required fields: ", message.InitializationErrorString()));
  }
  return CheckMessageBytes("message", message.ByteSizeLong(), attachment_bytes, options_.message_bytes_max);
}

void MessageStream::StartWrite(PendingWrite&& write) {
  write.on_loop = !in_posted_operation_;
  if (absl::Status checked = CheckWrite(write); !checked.ok()) {
    return Complete(std::move(write.done), std::move(checked));
  }
  if (writes_open_ && wire_ != nullptr && sender_.may_send()) return Send(std::move(write));
  write_ = std::move(write);
}

bool MessageStream::Restart() {
  if (closed_ || end_sent_ || sender_.count() > 0 || has_initial_metadata_ || receiver_.begun()) return false;
  wire_ = nullptr;
  writes_open_ = false;
  return true;
}

void MessageStream::OpenWrites() {
  writes_open_ = true;
  AdvanceWrites();
  RunCompletions();
}

void MessageStream::AdvanceWrites() {
  if (!writes_open_ || wire_ == nullptr) return;
  if (write_.has_value()) {
    if (!sender_.may_send()) return;
    PendingWrite write = *std::move(write_);
    write_.reset();
    Send(std::move(write));
  }
  if (writes_ended_ && !std::exchange(end_sent_, true)) wire_->SendEnd(sender_.count());
}

void MessageStream::Send(PendingWrite&& write) {
  if (observer_ != nullptr) Observe(write);
  Outgoing* const outgoing = TakeOutgoing();
  absl::Cord attachment = std::move(write.attachment);
  outgoing->Begin(std::move(write), attachment.size());
  unserialized_ = outgoing;
  const uint64_t bytes = outgoing->size();
  const uint64_t number = sender_.Send(bytes + attachment.size());
  // Not where its completion would have to be posted: with the turn's end it completes in place, and who holds a lock
  // while he writes does not meet there whatever an attachment's memory is released by.
  const bool may_leave = (completing_ || window_opens_) && outgoing->on_loop() && attachment.empty() && !RowIsFull();
  const uint64_t send_id = wire_->SendMessage({number, bytes}, outgoing, std::move(attachment), may_leave);
  if (send_id != transport::Connection::kLeft) return outgoing->set_send_id(send_id);
  // Its completion, which is queued, runs when whoever is on the stack runs them.
  CountInRow(*outgoing);
  Release(*outgoing);
}

void MessageStream::Observe(const PendingWrite& write) {
  if (write.body == nullptr) return observer_->OnSend(*write.message);
  const std::unique_ptr<google::protobuf::MessageLite> message(write.message->New());
  ParseMessage(*write.body, message.get());  // Where that fails he sees as much as the peer could.
  observer_->OnSend(*message);
}

void MessageStream::Release(Outgoing& outgoing) {
  outgoing.Free();
  free_outgoing_.push_back(&outgoing);
}

void MessageStream::BeginRow() {
  row_ = 0;
  row_bytes_ = 0;
}

void MessageStream::CountInRow(const Outgoing& outgoing) {
  ++row_;
  row_bytes_ += outgoing.bytes_in_all();
}

bool MessageStream::RowIsFull() const { return row_ >= kRowMax || row_bytes_ > kRowBytesMax; }

MessageStream::Outgoing* MessageStream::TakeOutgoing() {
  if (free_outgoing_.empty()) {
    outgoing_.push_back(std::make_unique<Outgoing>(this));
    return outgoing_.back().get();
  }
  Outgoing* const outgoing = free_outgoing_.back();
  free_outgoing_.pop_back();
  return outgoing;
}

bool MessageStream::CompleteWrite(Outgoing& outgoing, absl::Status status) {
  if (unserialized_ == &outgoing) unserialized_ = nullptr;
  if (!outgoing.has_write()) return false;
  Complete(outgoing.TakeDone(), std::move(status));
  outgoing.ForgetWrite();
  return true;
}

void MessageStream::OnSerialized(Outgoing& outgoing) {
  if (!CompleteWrite(outgoing, absl::OkStatus())) return;
  // It is run by OnWritten: the transport is in the midst of something.
  if (closed_) RunCompletionsLater();  // No write follows; and the connection may end before it can tell.
  TellFinished();
}

// Who writes the next message in the completion of the last writes several in one turn, and they share a SEND. Another
// thread gains nothing from being told before the doorbell rings: it has to be woken, and comes back by a task.
void MessageStream::OnWritten(const Outgoing& outgoing) {
  CountInRow(outgoing);
  if (!outgoing.on_loop() || RowIsFull()) return RunCompletionsLater();
  const CallbackScope scope(this);
  RunCompletions();
}

void MessageStream::OnSent(transport::PayloadSource* payload, transport::SendOutcome outcome) {
  auto& outgoing = static_cast<Outgoing&>(*payload);
  if (outgoing.has_write()) {
    CompleteWrite(outgoing, CallIsOver());
    OnLost(WhyLost(outcome));
  }
  Release(outgoing);
  RunCompletions();
}

// The last message: it was not serialized. What its completion does, ending the call for instance, comes behind this.
void MessageStream::OnLost(absl::Status why) {
  lost_ = std::move(why);
  if (wire_ != nullptr && !lost_.ok()) wire_->Fail(lost_);
  TellFinished();
}

void MessageStream::TellFinished() {
  if (StreamWire* const wire = std::exchange(finishing_, nullptr)) wire->OnFinished();
}

void MessageStream::Close(Unread unread) {
  if (closed_ && finishing_ == nullptr) return;
  closed_ = true;
  StreamWire* const wire = wire_ != nullptr ? wire_ : finishing_;
  wire_ = finishing_ = nullptr;
  for (const std::unique_ptr<Outgoing>& outgoing : outgoing_) {
    if (!outgoing->in_use()) continue;
    CompleteWrite(*outgoing, CallIsOver());
    if (wire != nullptr) wire->CancelSend(outgoing->send_id());
  }
  DropWrite();
  if (unread == Unread::kDrop) {
    dropped_ = true;
    receiver_.Drop();
  }
  AdvanceReads();
  AdvanceRefusal();
  RunCompletionsLater();
}

void MessageStream::End(Unread unread) {
  RunInTurn([this, unread] {
    Close(unread);
    RunCompletions();
  });
}

void MessageStream::DropWrite() {
  if (!write_.has_value()) return;
  PendingWrite write = *std::exchange(write_, std::nullopt);
  Complete(std::move(write.done), CallIsOver());
}

bool MessageStream::Finish() {
  closed_ = true;
  StreamWire* const wire = std::exchange(wire_, nullptr);
  if (unserialized_ != nullptr) finishing_ = wire;
  DropWrite();
  AdvanceReads();
  AdvanceRefusal();
  RunCompletionsLater();
  return finishing_ == nullptr;
}

void MessageStream::RunCompletions() {
  if (std::exchange(completing_, true)) return;
  while (!completions_.empty()) {
    auto [done, status] = std::move(completions_[next_completion_]);
    if (++next_completion_ == completions_.size()) {
      completions_.clear();
      next_completion_ = 0;
    }
    done(std::move(status));
  }
  completing_ = false;
}

void MessageStream::PostCompletions() {
  completions_posted_ = true;
  Post([self = shared_from_this()] {  // No larger: it is allocated for otherwise.
    self->RunInTurn([stream = self.get()] {
      stream->completions_posted_ = false;
      stream->BeginRow();
      stream->RunCompletions();
    });
  });
}

}  // namespace verbena::rpc
