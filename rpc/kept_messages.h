// Messages that calls with large requests had, for the next such calls.
//
// A large message's memory is dear: to ask the kernel for it and give it back with each call costs as much as to copy
// into it, and memory that was just in use is in the processor's cache. So the messages of a call are of use to the
// next as soon as its reply is written where it is sent from, long before the client has fetched it; and the newest are
// used first. Where 64 calls of 1 MiB are in flight, and their handlers finish on the loop, one or two pairs of
// messages serve them all. Calls with small requests have no part in it: some wait long, and would keep the memory
// meanwhile.
//
// Kept are 256 MiB at most for each loop, as far as messages can say what they take (those of the lite runtime cannot:
// they count as what calls had in them). What was not needed for a period goes back to the allocator, and so does, now
// and then, what is used all the time: protobuf gives no memory back by itself, and messages in which other fields are
// large each time only grow. Messages that took far more memory than their request had bytes, as those of a large reply
// to a small request, are not kept: only calls with larger requests could have them.
//
// Where malloc puts a reply's bytes right behind those of the request, they are 16 bytes further in their page if both
// have 2^n bytes. A handler that copies them meets what slows "rep movsb", by which glibc copies from some 2 to 512
// KiB, on AMD's EPYC: a destination 1 to 47 bytes further in its page than the source (3 instead of 40 GB/s, measured
// with glibc 2.36; docs/performance/large-payloads.md). So a gap is set between them.
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

// A call's. Both are null, or none is.
struct CallMessages {
  std::unique_ptr<google::protobuf::MessageLite> request;
  std::unique_ptr<google::protobuf::MessageLite> reply;
  std::unique_ptr<std::byte[]> gap = nullptr;
  size_t apart_bytes = 0;  // The largest request with a gap behind it.
  size_t held_bytes = 0;   // What they take: the most that was measured.
  uint32_t uses = 0;       // By large calls.

  // Puts a gap behind the memory of the request, of so many bytes, before the reply has any.
  void SetApart(size_t request_bytes);
};

class KeptMessages {
 public:
  static constexpr size_t kBytesMax = 256 << 20;
  static constexpr absl::Duration kPeriod = absl::Seconds(1);
  static constexpr size_t kGivenBackMax = 32 << 20;  // In a period; more if a single pair has more.
  static constexpr uint32_t kUsesMax = 32;           // Then messages are made anew.
  static constexpr size_t kTimesMax = 16;            // Messages take no more than so many times a call's request.

  // Of so many methods.
  KeptMessages(transport::EventLoop* loop, size_t methods) : loop_(*loop), kept_(methods), timer_(loop, this) {}

  // Messages of this method for a call with such a request: of the newest 32 those that have had one as large, else
  // others; null if there are only too large ones, or none. The request is as its last call left it, the reply empty.
  CallMessages Take(uint32_t method, size_t request_bytes);
  // After a call that had so many bytes in them. Null ones are not kept.
  void Keep(uint32_t method, CallMessages messages, size_t request_bytes, size_t reply_bytes);
  // Gives all back. Before the loop goes.
  void Clear();

  size_t bytes() const { return bytes_; }

 private:
  struct OfMethod {
    std::vector<CallMessages> messages;  // The newest last.
    size_t unused = 0;                   // So many of the oldest were not taken in this period.
  };

  static size_t Find(const OfMethod& kept, size_t request_bytes);
  size_t GiveBack(OfMethod& kept, size_t bytes_max);
  void GiveBackUnused();

  // Constant after construction.
  transport::EventLoop& loop_;

  // Owned by the loop.
  std::vector<OfMethod> kept_;
  size_t bytes_ = 0;
  size_t first_ = 0;  // The method that gives back first, the next time.
  transport::DeadlineTimer<KeptMessages, &KeptMessages::GiveBackUnused> timer_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_KEPT_MESSAGES_H_
