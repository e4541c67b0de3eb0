// Work requests of one send queue in flight, in order of posting: what its completions will be about.
//
// While a work request is in flight it is kept here, with the buffer that it names; only a completion (success, error
// or flush) or the end of its queue pair gives the buffer back. Not every work request asks for a completion: one says
// of those posted before it that they have succeeded. Nor does each matter to a loop that sleeps: those that do are
// awaited, READs and invalidations always. READs stand apart: siw completes a SEND when it has been written
// to the stream, while the answer to a READ posted before is still on its way. In themselves both are in order.
//
// Owner: a poll group, a pair of queues for each link number; the count goes on from one link to the next with that
// number, so that a completion that comes late covers nothing. Thread: its loop's. Recycles its memory: no allocation
// in the steady state.

#ifndef VERBENA_TRANSPORT_FLIGHT_QUEUE_H_
#define VERBENA_TRANSPORT_FLIGHT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "transport/protocol/ring.h"
#include "transport/registered_pool.h"
#include "transport/verbs/completion_token.h"

namespace verbena::transport {

// What a work request asked for; and a completion token's kind: kReceive (index: the receive buffer), or any other
// (index: the link).
enum class WorkKind : uint8_t {
  kReceive = 1,     // Not in this queue: receives belong to their ReceiveSupply.
  kFrame = 2,       // A frame that was sent from a send buffer.
  kRead = 3,        // A chunk of a fetch.
  kHeader = 4,      // A frame that is a header alone.
  kBind = 5,        // A memory window is opened.
  kInvalidate = 6,  // A memory window is closed.
};

struct Flight {
  WorkKind kind = WorkKind::kFrame;
  bool awaited = false;                // A loop that sleeps is to wake for its completion: set for READs and
                                       // invalidations, and by AwaitNewest.
  uint64_t fetch_id = 0;               // kRead: which fetch.
  RegisteredPool::Buffer buffer = {};  // kFrame, kHeader: the bytes, unless they went inline.
};

// The flights of several queues together.
struct FlightCounts {
  size_t all = 0;
  size_t awaited = 0;
};

class FlightQueue {
 public:
  // `total` is not owned.
  FlightQueue(uint32_t link, FlightCounts* total) : link_(link), total_(*total) {}

  verbs::CompletionToken Add(Flight&& flight) {
    const verbs::CompletionToken token = verbs::CompletionToken::Of(flight.kind, link_, first_ + Narrow(size()));
    ++total_.all;
    if (flight.awaited) ++total_.awaited;
    flights_.Push(std::move(flight));
    return token;
  }
  // The newest is awaited from here on, and with it those before: they complete in order. Nothing if there is none.
  void AwaitNewest() {
    if (size() == 0 || std::exchange(flights_.back().awaited, true)) return;
    ++total_.awaited;
  }

  // Whether the completion of the token's work request is about the oldest flight too.
  bool Covers(verbs::CompletionToken token) const { return token.generation() - first_ < Narrow(size()); }

  // There is one.
  Flight TakeOldest() {
    ++first_;
    Uncount(flights_.front());
    return flights_.Pop();
  }

  // There is one; it was never posted.
  Flight TakeNewest() {
    Uncount(flights_.back());
    return flights_.PopBack();
  }
  // All of them: the queue pair is destroyed and can complete no more.
  void Clear() {
    while (size() > 0) TakeOldest();
  }

  size_t size() const { return flights_.size(); }

 private:
  static uint32_t Narrow(size_t size) { return static_cast<uint32_t>(size); }
  void Uncount(const Flight& flight) {
    --total_.all;
    if (flight.awaited) --total_.awaited;
  }

  // Constant after construction.
  const uint32_t link_;
  FlightCounts& total_;

  // Owned by the loop.
  protocol::Ring<Flight> flights_;
  uint32_t first_ = 0;  // The oldest flight's number; the generation of its token.
};

// Those of one link.
class LinkFlights {
 public:
  LinkFlights(uint32_t link, FlightCounts* total) : reads_(link, total), others_(link, total) {}

  verbs::CompletionToken Add(Flight&& flight) { return Of(flight.kind).Add(std::move(flight)); }
  // The queue in which work of this kind stands.
  FlightQueue& Of(WorkKind kind) { return kind == WorkKind::kRead ? reads_ : others_; }

  // Of all but READs, which are awaited anyhow.
  void AwaitNewest() { others_.AwaitNewest(); }

  size_t size() const { return reads_.size() + others_.size(); }
  void Clear() {
    reads_.Clear();
    others_.Clear();
  }

 private:
  FlightQueue reads_;
  FlightQueue others_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_FLIGHT_QUEUE_H_
