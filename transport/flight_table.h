// Work requests in flight: what each completion will be about.
//
// While a work request is in flight this table owns the buffer that it names; only its completion (success, error or
// flush) or the end of its queue pair gives the buffer back. A completion names its entry by index and generation, so
// one that comes late finds nothing.
//
// Owner: a poll group. Thread: its loop's. Recycles its memory: no allocation in the steady state.

#ifndef VERBENA_TRANSPORT_FLIGHT_TABLE_H_
#define VERBENA_TRANSPORT_FLIGHT_TABLE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "transport/registered_pool.h"
#include "transport/verbs/completion_token.h"

namespace verbena::transport {

// What a completion token's kind says.
enum class WorkKind : uint8_t {
  kReceive = 1,     // Index: the receive buffer. Not in this table: receives belong to the shared receive queue.
  kFrame = 2,       // A frame that was sent from a send buffer.
  kRead = 3,        // A chunk of a fetch.
  kHeader = 4,      // A frame that is a header alone.
  kBind = 5,        // A memory window is opened.
  kInvalidate = 6,  // A memory window is closed.
};

struct Flight {
  WorkKind kind = WorkKind::kFrame;
  uint32_t link = 0;              // The poll group's number of the link that posted it.
  uint64_t fetch_id = 0;          // kRead: which fetch.
  RegisteredPool::Buffer buffer;  // kFrame, kHeader: the bytes, unless they went inline.
};

class FlightTable {
 public:
  verbs::CompletionToken Add(Flight flight) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    Entry& entry = entries_[index];
    entry.flight = std::move(flight);
    entry.in_flight = true;
    return verbs::CompletionToken::Of(entry.flight.kind, index, entry.generation);
  }

  // Moves the flight that `token` names to `flight` and frees its entry. False: it is not in flight (any more).
  bool Remove(verbs::CompletionToken token, Flight* flight) {
    if (token.index() >= entries_.size()) return false;
    Entry& entry = entries_[token.index()];
    if (!entry.in_flight || entry.generation != token.generation()) return false;
    *flight = std::exchange(entry.flight, Flight());
    Free(token.index());
    return true;
  }

  // Drops all that `link` posted, when its queue pair is destroyed and can complete no more.
  void RemoveAll(uint32_t link) {
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].in_flight || entries_[i].flight.link != link) continue;
      entries_[i].flight = Flight();
      Free(i);
    }
  }

  size_t size() const { return entries_.size() - free_.size(); }

 private:
  struct Entry {
    Flight flight;
    uint32_t generation = 0;
    bool in_flight = false;
  };

  void Free(uint32_t index) {
    entries_[index].in_flight = false;
    ++entries_[index].generation;
    free_.push_back(index);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_FLIGHT_TABLE_H_
