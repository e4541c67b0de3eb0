// Writes a stream for a thread that waits for its window: the writer serializes his message on his own thread and goes
// on, the loop sends what is there. He waits where much is under way already (kWriteBehindBytes and a message,
// twice).
//
// A message waits, until it is in the memory that it is sent from, if it is the first (by then there is a connection,
// and what travels with the first has left), long, or has a long attachment. The memory of other attachments is let go
// when they have left, or with the call.
//
// Owner: the writer's end of the stream, shared with what is under way on the loop. Thread: as each part says.

#ifndef VERBENA_RPC_BLOCKING_WRITE_BEHIND_H_
#define VERBENA_RPC_BLOCKING_WRITE_BEHIND_H_

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "google/protobuf/message_lite.h"
#include "rpc/blocking/message_batch.h"
#include "rpc/blocking/stream_pump.h"
#include "rpc/message_stream.h"

namespace verbena::rpc {

inline constexpr size_t kWriteBehindBytes = size_t{256} << 10;

class WriteBehind final : public StreamPump {
 public:
  using StreamPump::StreamPump;

  // As MessageStream::Write, but that the call may end, with a status that says so, before what OK was said to has
  // left. Any thread but the loop's.
  absl::Status Write(const google::protobuf::MessageLite& message, absl::Cord attachment);
  // No write follows. Any thread.
  void EndWrites();
  // Waits until all that was written is in the memory that it is sent from, or never will be. Any thread but the
  // loop's.
  void Flush();

 private:
  // A message whose writer waits for it.
  struct Awaited {
    const google::protobuf::MessageLite* message;
    absl::Cord attachment;
    absl::Status status = absl::OkStatus();
    bool begun = false;  // On the loop: what ends there next is this.
    bool done = false;
  };

  void Advance(const absl::Status& status) override;
  void End(const absl::Status& status) override;
  absl::Status Copy(const google::protobuf::MessageLite& message, size_t bytes, absl::Cord attachment);
  absl::Status Await(const google::protobuf::MessageLite& message, absl::Cord attachment);
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishAwaited(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendNext();

  // The writer's.
  bool has_written_ = false;
  std::unique_ptr<google::protobuf::MessageLite> kind_;  // Set before the first copy is written, then the loop's.

  // The loop's.
  MessageBatch leaving_;
  absl::Span<const std::byte> body_;  // Of the message that is on its way out.

  MessageBatch written_ ABSL_GUARDED_BY(mu_);
  Awaited* awaited_ ABSL_GUARDED_BY(mu_) = nullptr;  // Behind what was written. Null: none.
  bool idle_ ABSL_GUARDED_BY(mu_) = true;            // Nothing is begun on the loop.
  bool end_asked_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status ended_ ABSL_GUARDED_BY(mu_);  // Not OK: nothing more leaves, and why.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_WRITE_BEHIND_H_
