// How much a loop fetches at a time: a window of bytes over the large messages of all its connections.
//
// A message is read by the program when all of it has landed. If little else has landed meanwhile, it is still in the
// processor's cache then; and what begins later is there as early, for the device is as fast with a few messages at a
// time as with hundreds. So a fetch enters the window before it asks for memory, and leaves it when its message was
// delivered. Where there is no room it waits for its turn: the smaller first, by powers of two, in each of these first
// come, first served; each kOldestsTurn-th turn is the oldest's of all, for which room is kept, so that each is fetched
// in the end. (As on one connection: protocol/rendezvous_receiver.h.)
//
// A message of more than half the window counts as half: two are let in however long they are, so that one lands while
// the other is read. One of less than a 32nd of it does not enter at all (IsSmall).
//
// A fetch that takes longer than kPatience leaves the window while it goes on. So however slow peers are, a loop begins
// a window's worth in that time: 1 MiB in 5 ms, 210 MB/s. What one does not answer holds up others for kPatience, once
// for each window's worth of it. Nor does one count that has to wait for memory.
//
// Owner: a poll group. Thread: its loop's. No allocation in the steady state. Pure.

#ifndef VERBENA_TRANSPORT_FETCH_WINDOW_H_
#define VERBENA_TRANSPORT_FETCH_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "transport/protocol/slot_table.h"

namespace verbena::transport {

class FetchWindow {
 public:
  // Names a fetch that is in the window, or waits for it.
  using Ticket = uint64_t;
  static constexpr Ticket kNone = 0;
  static constexpr uint64_t kOldestsTurn = 8;
  static constexpr absl::Duration kPatience = absl::Milliseconds(5);

  // Who fetches, and may have to wait. It stays until each of its tickets was given to Leave.
  class Fetcher {
   public:
    // The turn of a fetch that waited has come: it is in the window. It may call back for Leave.
    virtual void OnFetchTurn(uint64_t fetch_id) = 0;

   protected:
    ~Fetcher() = default;
  };

  struct Entry {
    Ticket ticket;
    bool begins;  // The fetch is in the window. Else OnFetchTurn follows, from Leave or OnTime.
  };

  // `bytes_max` is at least 1; an odd one counts as one more.
  explicit FetchWindow(uint64_t bytes_max) : bytes_max_(bytes_max + bytes_max % 2), waiters_(WidthOf(bytes_max_) + 1) {}

  // A fetch of `bytes`, at least 1, is to begin. If it has to wait, then among those of `turn_bytes`, no less: as one
  // does that is not to go before a larger one.
  Entry Enter(Fetcher* fetcher, uint64_t fetch_id, uint64_t bytes, uint64_t turn_bytes, absl::Time now);
  // The message was delivered, or is fetched no more, begun or not. Nothing for kNone, nor for one that has left out of
  // patience.
  void Leave(Ticket ticket, absl::Time now);

  // When OnTime has something to do at the earliest, while anybody waits.
  std::optional<absl::Time> NextTime() const;
  void OnTime(absl::Time now);

  // So small that it need not enter: it costs the cache little, and entering would cost it more.
  bool IsSmall(uint64_t bytes) const { return bytes < bytes_max_ / 32; }

  uint64_t bytes() const { return bytes_; }  // In the window.
  size_t waiting() const { return waiting_; }

 private:
  struct Fetch {
    Fetcher* fetcher;
    uint64_t fetch_id;
    uint64_t bytes;    // That it counts.
    size_t width;      // Of waiters_, which it waits in, or waited.
    uint64_t arrival;  // Its number among all.
    bool begun;
    absl::Time begun_at;  // If begun.
  };

  uint64_t Counted(uint64_t bytes) const;
  size_t WidthOf(uint64_t bytes) const;
  bool Fits(uint64_t bytes) const { return bytes <= bytes_max_ - bytes_; }
  void Begin(uint32_t index, absl::Time now);
  void End(uint32_t index);
  void Await(uint32_t index);
  void StopWaiting(uint32_t index);
  bool IsOldestsTurn() const { return begun_ % kOldestsTurn == kOldestsTurn - 1; }
  // Of waiters_, in which the next turn is, and the oldest fetch. Somebody waits.
  size_t Next() const;
  size_t Oldest() const;
  void Serve(absl::Time now);

  // Constant after construction.
  const uint64_t bytes_max_;

  // Owned by the loop.
  uint64_t bytes_ = 0;
  protocol::SlotTable<Fetch> fetches_;
  protocol::SlotQueue under_way_;             // In the order of beginning.
  std::vector<protocol::SlotQueue> waiters_;  // By the bit width of what a message counts.
  uint64_t widths_ = 0;                       // A bit for each of them that is not empty.
  size_t waiting_ = 0;
  uint64_t arrivals_ = 0;  // Ever.
  uint64_t begun_ = 0;     // Ever.
  bool serving_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_FETCH_WINDOW_H_
