// The attachment of a request, read by the handler while the rest of it still comes.
//
//   AttachmentReader attachment = context->attachment_reader();
//   while (true) {
//     absl::StatusOr<absl::Cord> part = attachment.Read();
//     if (!part.ok()) return part.status();
//     if (part->empty()) break;
//     file.Append(*part);
//   }
//
// A handler runs before all is there if its service says so of the method (Service::ReadAttachmentInParts); of any
// other method the first read gives all. A handler that is done before the last part: the rest is not fetched.
//
// What a read gives is the client's bytes, from the front and in order. That they are all, and (where the client's
// TransportOptions::checksum_payloads has it found out) undamaged, is known at the end: so what is done with the parts
// must be of no consequence if a later read fails.
//
// A handler that blocks keeps its thread while it waits for a part, and a client may be slow: where there are many such
// clients, or hostile ones, handlers on the event loop and coroutines keep none.
//
// Owner: the handler; copies read the same attachment. Once the handler has finished there is nothing to be read.
// Thread: any, one read at a time.

#ifndef VERBENA_RPC_ATTACHMENT_ATTACHMENT_READER_H_
#define VERBENA_RPC_ATTACHMENT_ATTACHMENT_READER_H_

#include <coroutine>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/completion.h"

namespace verbena {

namespace rpc {

class ArrivingAttachment;

// Of one CoRead, in the frame of the coroutine that awaits it.
class PartAwaiter {
 public:
  explicit PartAwaiter(std::shared_ptr<ArrivingAttachment> attachment) : attachment_(std::move(attachment)) {}
  PartAwaiter(const PartAwaiter&) = delete;
  PartAwaiter& operator=(const PartAwaiter&) = delete;
  ~PartAwaiter();

  bool await_ready() const;
  bool await_suspend(std::coroutine_handle<> coroutine);
  absl::StatusOr<absl::Cord> await_resume();

 private:
  const std::shared_ptr<ArrivingAttachment> attachment_;
  std::shared_ptr<coroutine::Completion> completion_;  // Null: it need not wait, or may not.
  bool refused_ = false;
};

}  // namespace rpc

class AttachmentReader {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<absl::Cord>)>;

  explicit AttachmentReader(std::shared_ptr<rpc::ArrivingAttachment> attachment);  // ServerContext makes it.

  // Of all of it, in bytes.
  uint64_t size() const;

  // Each gives what has come since the read before, as soon as that is a byte or more; or an empty Cord: all was read
  // before, and it is what the client sent. The Cord may outlive the call; each holds all of the attachment's landing
  // memory, see ServerContext::attachment.
  //
  // Errors, the same at every further read: CANCELLED, nobody waits for the call any more; UNAVAILABLE, the rest does
  // not come, since the connection has ended or a READ has failed; DATA_LOSS, what has come is not what was sent. Once
  // the handler has finished: CANCELLED. FAILED_PRECONDITION: another read is under way, or a blocking one would stop
  // the event loop; of that read alone.

  // For handlers that may block.
  absl::StatusOr<absl::Cord> Read();
  // For those on the event loop: `done` runs once, there, and must neither block nor throw; at once, here, if there is
  // something to give. One that waits when the handler finishes is dropped; for one that runs on another thread then to
  // finish waits, so do not finish with a lock that it takes, nor a second call's handler from within it while that one
  // may do the same.
  void Read(Done done);
  // For coroutines. One that is destroyed while it waits loses nothing: the next read brings it.
  auto CoRead() {
    return coroutine::Awaitable<rpc::PartAwaiter, std::shared_ptr<rpc::ArrivingAttachment>>(attachment_);
  }

 private:
  std::shared_ptr<rpc::ArrivingAttachment> attachment_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_ATTACHMENT_ATTACHMENT_READER_H_
