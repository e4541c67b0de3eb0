// Reads a stream for a thread that waits for its messages: the loop hands over what has come, serialized, and the
// reader finds the next message there, and parses it on his own thread, mostly without waiting for the loop.
//
// What is read ahead counts as unread: the window holds up the sender of a reader who falls behind. At most a window of
// it is here, and as much of what the reader has at hand. Small messages are copied into two batches, which are used in
// turn. Long ones, and attachments, stay in the memory that they came in, where the stream would have kept them.
//
// Owner: the reader's end of the stream, shared with what is under way on the loop. Thread: as each part says.

#ifndef VERBENA_RPC_BLOCKING_READ_AHEAD_H_
#define VERBENA_RPC_BLOCKING_READ_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "google/protobuf/message_lite.h"
#include "rpc/blocking/message_batch.h"
#include "rpc/blocking/stream_pump.h"
#include "rpc/message_stream.h"

namespace verbena::rpc {

class ReadAhead final : public StreamPump, private MessageSink {
 public:
  using StreamPump::StreamPump;

  // The next message, and what came beside it (null: nobody wants that). Waits for it. False: there is none any more;
  // or it is none (MessageStream::unreadable), which ends the call; or another thread is in here. Any thread but the
  // loop's.
  bool Read(google::protobuf::MessageLite* message, absl::Cord* attachment);

 private:
  void Advance(const absl::Status& status) override;
  void End(const absl::Status& status) override;
  void Take(const ReceivedMessage& message) override;
  void DropArrived();
  bool Refill();
  bool Refuse();
  void Count(uint64_t charge);

  // The reader's.
  bool begun_ = false;  // The loop reads, and goes on until nothing more arrives.
  MessageBatch reading_;
  uint64_t unreported_ = 0;  // What he has read that the stream does not know of, as its window counts.
  std::unique_ptr<google::protobuf::MessageLite> scratch_;  // Set before the first turn, then the loop's.

  MessageBatch arrived_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // Nothing more arrives.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_READ_AHEAD_H_
