// Messages that large calls had, for the next large calls.
//
// A large message's memory is dear: to ask the kernel for it and give it back with each call costs as much as to copy
// into it, and memory that was just in use is in the processor's cache. So the messages of a call are of use to the
// next as soon as its reply is written where it is sent from, long before the client has fetched it; and the newest are
// used first. Where 64 calls of 1 MiB are in flight one or two pairs of messages serve them all.
//
// What was not needed for a second goes back to the allocator, and more than kBytesMax is not kept.
//
// Where malloc puts a reply's bytes right behind those of the request, they are 16 bytes further in their page if both
// have 2^n bytes. A handler that copies them meets what slows "rep movsb", by which glibc copies from some 2 to 512
// KiB, on many processors: a destination 1 to 47 bytes further in its page than the source (3 instead of 40 GB/s,
// measured on an AMD EPYC with glibc 2.36; docs/performance.md). So a gap is set between them.
//
// Owner: a server's part on an event loop. Thread: the loop's.

#ifndef VERBENA_RPC_KEPT_MESSAGES_H_
#define VERBENA_RPC_KEPT_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "google/protobuf/message_lite.h"
#include "transport/deadline_timer.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

struct CallMessages {
  std::unique_ptr<google::protobuf::MessageLite> request;
  std::unique_ptr<google::protobuf::MessageLite> reply;
  std::unique_ptr<std::byte[]> gap;
  size_t held_bytes = 0;  // What a large call left in them at most; 0: none had them.

  // The request has just got its memory, the reply has none yet.
  void SetApart();
};

class KeptMessages {
 public:
  static constexpr size_t kBytesMax = 256 << 20;
  static constexpr absl::Duration kPeriod = absl::Seconds(1);

  // Of so many methods.
  KeptMessages(transport::EventLoop* loop, size_t methods) : loop_(*loop), kept_(methods), timer_(loop, this) {}

  // Messages of this method; null if none are kept. The request is as its last call left it, the reply empty.
  CallMessages Take(uint32_t method);
  // Null ones are not kept.
  void Keep(uint32_t method, CallMessages messages);
  // Gives all back. Before the loop goes.
  void Clear();

  size_t bytes() const { return bytes_; }

 private:
  struct OfMethod {
    std::vector<CallMessages> messages;  // A stack.
    size_t unused = 0;                   // So many at its bottom were not taken in this period.
  };

  void GiveBackUnused();

  transport::EventLoop& loop_;
  std::vector<OfMethod> kept_;
  size_t bytes_ = 0;
  transport::DeadlineTimer<KeptMessages, &KeptMessages::GiveBackUnused> timer_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_KEPT_MESSAGES_H_
