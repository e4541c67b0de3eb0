// One end of a call's streams: messages that the user reads, messages that he writes, each in order, with flow control.
//
// The same at the client and at the server; a method that streams one way only leaves the other way unused. The user
// has one read and one write in flight at most; each is completed once, on the loop, and never from within Read or
// Write. A write is complete when its message has been serialized into the memory that it is sent from: by then the
// message is the user's again, and the receiver's window had room for it. So a slow reader holds up its writer here,
// and nobody else. Once the loop is gone, with its channel or server, whoever comes does that himself, one at a time.
//
// Owner: shared by the call and the user. Thread: as each part says.

#ifndef VERBENA_RPC_MESSAGE_STREAM_H_
#define VERBENA_RPC_MESSAGE_STREAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "google/protobuf/message_lite.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/metadata.h"
#include "rpc/core/stream_header.h"
#include "rpc/core/stream_receiver.h"
#include "rpc/core/stream_sender.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/interceptor/message_observer.h"
#include "rpc/serial_tasks.h"
#include "transport/connection.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class MessageStream;

// How a stream reaches its peer while its call lives. The loop's thread.
class StreamWire {
 public:
  virtual ~StreamWire() = default;
  // Sends a message; MessageStream::OnSent(payload, …) is to follow, until when the stream is kept. Returns the send's
  // id; or, only if it `may_leave`, Connection::kLeft: it has left, and nothing follows.
  virtual uint64_t SendMessage(const StreamHeader& header, transport::PayloadSource* payload, absl::Cord attachment,
                               bool may_leave) = 0;
  virtual void SendEnd(uint64_t count) = 0;
  virtual void SendWindow(uint64_t limit) = 0;
  virtual void CancelSend(uint64_t send_id) = 0;
  // The server's, which is known. A client's travels with its request.
  virtual void SendInitialMetadata() {}
  // The stream cannot go on: the call is to end with `status`. Closes the stream, perhaps at once.
  virtual void Fail(const absl::Status& status) = 0;
  // What Finish waited for is decided. The transport may be on the stack.
  virtual void OnFinished() {}
};

// A message that is here, as it came. Valid within the call that brings it.
struct ReceivedMessage {
  absl::Span<const std::byte> body;
  size_t payload_bytes;                         // The body's and, behind it, the attachment's.
  absl::FunctionRef<absl::Cord(size_t)> share;  // The payload from a byte on, for as long as wanted, anywhere. Once.
};

// Takes messages as they came, for who parses them on a thread of his own. The loop's thread.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void Take(const ReceivedMessage& message) = 0;
};

struct StreamOptions {
  uint64_t window_bytes = uint64_t{256} << 10;  // Unread messages that are kept, but for the last.
  uint64_t message_bytes_max = uint64_t{1} << 30;
};

inline constexpr uint64_t kStreamWindowMax = uint64_t{1} << 40;  // What a stream has sent since is added to it.

// InvalidArgument, in words: what the option stream_window_bytes of `options` ("ServerOptions") may be.
absl::Status CheckStreamWindow(absl::string_view options, uint64_t stream_window_bytes);

class MessageStream : public std::enable_shared_from_this<MessageStream> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // What becomes of messages that are here unread when the call ends.
  enum class Unread { kKeep, kDrop };

  MessageStream(std::shared_ptr<transport::LoopHandle> loop, const StreamOptions& options);
  ~MessageStream();

  // --- For the user. Any thread; reads by one at a time, writes by one at a time.

  // The next message into `*into`, and what came beside it into `*attachment` (null: nobody wants that); both live
  // until then. OutOfRange: there is none any more.
  void Read(google::protobuf::MessageLite* into, absl::Cord* attachment, Done done);
  // Errors, after which the stream is as before: ResourceExhausted (the message is larger than message_bytes_max),
  // InvalidArgument (it lacks required fields), FailedPrecondition (after EndWrites, or beside another write).
  // Cancelled: the call is over; its status says why.
  void Write(const google::protobuf::MessageLite* message, absl::Cord attachment, Done done);
  // No write follows; the peer reads its end behind those that were made.
  void EndWrites();
  // Whether a write would be refused since the call is over; whether nothing is to be read any more, although it is
  // here.
  bool over() const { return closed_; }
  bool dropped() const { return dropped_; }
  // Whether a message that somebody asked for turned out to be none. A call that had ended well by then has not.
  bool unreadable() const { return unreadable_; }
  // On the loop's thread: what is begun here needs no task.
  bool here() const { return loop_->IsHere(); }
  // Why Write would refuse this message, whatever the stream's state.
  absl::Status CheckMessage(const google::protobuf::MessageLite& message, size_t attachment_bytes) const;
  // At the server: its initial metadata leaves, without waiting for the first message, which carries it, too.
  void SendInitialMetadata();
  // At the client: until the server's initial metadata is here, or its first message, which comes behind that; one wait
  // at a time. Cancelled: the call ended without either, and what metadata there is came with its end.
  void AwaitInitialMetadata(Done done);

  // --- For threads that parse and serialize themselves (rpc/blocking): as Read and Write.

  // The next message to `sink`, and then `done`. `scratch`, of the method's type, is for who observes the call. What
  // the sink took counts as unread until OnRead, which may wait until it is half of the window.
  void ReadTo(MessageSink* sink, google::protobuf::MessageLite* scratch, Done done);
  // So much of what a sink took has been read, each message's overhead (kStreamMessageOverhead) included.
  void OnRead(uint64_t charge);
  uint64_t window_bytes() const { return options_.window_bytes; }
  // `*body` is what CheckMessage found good, serialized; `kind` any message of its type. All live until then.
  void WriteBody(const absl::Span<const std::byte>* body, absl::Cord attachment,
                 const google::protobuf::MessageLite* kind, Done done);
  // Has `turn` run on the loop as completions are: the operations that it and its like begin complete in place.
  void PostTurn(Done turn);
  // What a sink took is no message: the call is to end, with this status. `done` when it is over: whose message it was
  // must not take it for the end of the stream. Once.
  void RefuseTaken(Done done);
  static absl::Status Unreadable();
  static absl::Status CallIsOver();  // CANCELLED.

  // --- For the call. The loop's thread.

  // The call has a connection; `wire` stays until Close or Finish.
  void Attach(StreamWire* wire) { wire_ = wire; }
  // The connection is gone before anything of the stream had left or arrived: another one may have it. False: too late.
  bool Restart();
  // Where the client wants the initial metadata that comes ahead of the response; it lives until the call's end.
  void set_initial_metadata(Metadata* into) { initial_metadata_ = into; }
  // `observer` sees each message that is sent, and each that is handed to the user or to his thread.
  void set_observer(std::shared_ptr<MessageObserver> observer) { observer_ = std::move(observer); }
  // What is written is sent from here on.
  void OpenWrites();
  // A message that is to be fetched; what has arrived, of one of the kinds of streams. Errors: the peer breaks the
  // protocol (InvalidArgument) or message_bytes_max (ResourceExhausted).
  absl::Status OnAnnounced(absl::Span<const std::byte> header, uint64_t payload_bytes);
  absl::Status OnInbound(MessageKind kind, absl::Span<const std::byte> header, transport::ReceivedPayload& payload);
  void OnSent(transport::PayloadSource* payload, transport::SendOutcome outcome);

  // The call is over: what is on its way out is withdrawn, reads and writes complete, in a task of the loop or with
  // RunCompletions.
  void Close(Unread unread);
  // The handler is done: what it wrote still leaves. False: whether the last message does is not decided yet (it waits
  // for credit, or for memory to be sent from); StreamWire::OnFinished follows then, unless Close comes first.
  bool Finish();
  // From then on: how many messages leave. Not OK: one more was written, which does not, and why.
  uint64_t leaving() const { return sender_.count() - (lost_.ok() ? 0 : 1); }
  const absl::Status& lost() const { return lost_; }
  // The caller has a share of this, as of whatever may end in it (OpenWrites, OnAnnounced, OnInbound, OnSent, a
  // payload's OnWritten): a completion may drop the user's.
  void RunCompletions();
  // Both, also by a task that finds the loop gone, beside whom the user may be at work.
  void End(Unread unread);

  // The peer's stream has ended, and all of it is here; each message that was read was one.
  bool complete() const { return receiver_.complete() && !unreadable_; }
  bool ended() const { return receiver_.ended(); }
  bool fetching() const { return receiver_.fetching(); }
  bool has_initial_metadata() const { return has_initial_metadata_; }  // Its user may look at it, if only at none.

 private:
  struct Incoming {
    absl::Cord payload;
    uint64_t body_bytes = 0;
  };
  class Outgoing;
  struct PendingRead {
    google::protobuf::MessageLite* into;
    absl::Cord* attachment;
    Done done;
    MessageSink* sink = nullptr;  // In place of the two, but where somebody observes.
  };
  struct PendingWrite {
    const google::protobuf::MessageLite* message;
    absl::Cord attachment;
    const absl::Span<const std::byte>* body;  // Not null: what is sent, and `message` is of its type.
    Done done;
    bool on_loop = false;  // By who is on the loop's thread.
  };

  // Does `operation` on the loop: at once, or by a task of it. Completions run behind the operation, not within it: its
  // caller may hold a lock, or start the next in one. Not so once the loop is gone: then they run in here.
  template <typename Operation>
  void OnLoop(Operation operation) {
    if (!loop_->IsHere()) return PostOperation(std::move(operation));
    operation();
    RunCompletionsLater();
  }
  void PostOperation(absl::AnyInvocable<void()> operation);
  // Has the loop run `task`, which holds a share of this, or runs it here if the loop is gone.
  void Post(absl::AnyInvocable<void()> task);
  // Does `work` by a task of the loop, or at once if that is gone.
  template <typename Work>
  void PostInTurn(Work work) {
    Post([self = shared_from_this(), work = std::move(work)]() mutable { self->RunInTurn(std::move(work)); });
  }
  // What a task of the loop does, or he who cannot post one any more: once the loop is gone there are many who may, on
  // as many threads, and they take turns. The caller has a share of this.
  template <typename Work>
  void RunInTurn(Work work) {
    if (loop_->gone()) {
      after_loop_.Run([self = shared_from_this(), work = std::move(work)]() mutable { self->RunScoped(work); });
    } else {
      RunScoped(work);
    }
  }
  template <typename Work>
  void RunScoped(Work& work) {
    const CallbackScope scope(this);
    work();
  }
  void BeginRead(PendingRead&& read);  // On the loop.
  void BeginWrite(PendingWrite&& write);
  void StartRead(PendingRead&& read);
  // The message that the reader waits for, which the receiver counts as taken.
  void FinishRead(const ReceivedMessage& message);
  void StartWrite(PendingWrite&& write);
  absl::Status CheckWrite(const PendingWrite& write) const;
  void Observe(const PendingWrite& write);  // There is somebody who does.
  absl::Status OnMessage(const StreamHeader& header, transport::ReceivedPayload& payload);
  void TakeInitialMetadata(const StreamHeader& header);  // Of a message: the first has it.
  void OnInitialMetadata(const StreamHeader& header);
  absl::Status OnEnd(uint64_t count);
  void StartAwaitingInitialMetadata(Done done);
  void AdvanceReads();
  void AdvanceBeginning();
  void OnUnreadable();
  void AdvanceRefusal();
  void TellWindow();  // If it is worth a message.
  void AdvanceWrites();
  void DropWrite();  // The one that waits for the window, if there is one.
  void Send(PendingWrite&& write);
  Outgoing* TakeOutgoing();
  // Completes the write, if that is still to be done: false if not.
  bool CompleteWrite(Outgoing& outgoing, absl::Status status);
  void OnSerialized(Outgoing& outgoing);
  void Release(Outgoing& outgoing);
  void BeginRow();
  void CountInRow(const Outgoing& outgoing);
  // No more messages are to complete in place before a task runs.
  bool RowIsFull() const;
  void OnWritten(const Outgoing& outgoing);
  void OnLost(absl::Status why);
  void TellFinished();
  absl::Status JudgeSize(uint64_t payload_bytes) const;
  void Complete(Done&& done, absl::Status status) { completions_.emplace_back(std::move(done), std::move(status)); }
  void RunCompletionsLater() {
    if (!completions_.empty() && !completing_ && !completions_posted_) PostCompletions();
  }
  void PostCompletions();

  // Constant after construction.
  const std::shared_ptr<transport::LoopHandle> loop_;
  const StreamOptions options_;

  // Owned by the loop's thread.
  StreamWire* wire_ = nullptr;       // Null: no connection yet, or none any more.
  StreamWire* finishing_ = nullptr;  // Waits for unserialized_ since Finish. Null: nobody does.
  absl::Status lost_;                // Not OK: the last message that was written never leaves; none follows.
  bool writes_open_ = false;
  bool writes_ended_ = false;  // By the user.
  bool end_sent_ = false;
  std::atomic<bool> unreadable_ = false;       // A message was none: the call is to end.
  std::shared_ptr<MessageObserver> observer_;  // Null: nobody.
  StreamReceiver<Incoming> receiver_;
  StreamSender sender_;
  Metadata* initial_metadata_ = nullptr;  // Null: the server's end.
  bool has_initial_metadata_ = false;
  std::optional<Done> beginning_;  // Waits for the initial metadata.
  std::optional<Done> refusing_;   // Waits for the end of the call.
  std::optional<PendingRead> read_;
  std::optional<PendingWrite> write_;  // Waits for the window, or for the call to be there.
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<Outgoing*> free_outgoing_;
  Outgoing* unserialized_ = nullptr;                        // The one whose write is not complete. Null: none.
  std::vector<std::pair<Done, absl::Status>> completions_;  // Emptied when the last one runs.
  size_t next_completion_ = 0;
  // What was written and completed in place since an awaited message arrived or a task ran completions: messages,
  // bytes.
  uint32_t row_ = 0;
  size_t row_bytes_ = 0;
  bool completing_ = false;
  bool window_opens_ = false;  // The peer's window is being opened: completions run behind that.
  bool in_posted_operation_ = false;
  bool completions_posted_ = false;

  // Any thread.
  std::atomic<bool> closed_ = false;  // Set by the loop's, both.
  std::atomic<bool> dropped_ = false;
  // Once the loop is gone, what was its thread's is theirs.
  SerialTasks after_loop_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_MESSAGE_STREAM_H_
