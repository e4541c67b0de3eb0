// How much a loop fetches at a time: a window of bytes over the large messages of all its connections.
//
// A message is read by the program when all of it has landed. If little else has landed meanwhile, it is still in the
// processor's cache then; and what begins later is there as early, for the device is as fast with a few messages at a
// time as with hundreds. So a fetch enters the window before it asks for memory, and leaves it when its message was
// delivered. Where there is no room it waits for its turn: the smaller first, by powers of two, in each of these first
// come, first served; each kOldestsTurn-th turn is the oldest's of all, for which room is kept, so that each is fetched
// in the end. (As on one connection: protocol/rendezvous_receiver.h.)
//
// A fetch that takes longer than kPatience leaves the window while it goes on: whoever is slow to answer READs, or does
// not, holds up others no longer than that. A message of more than half the window counts as half: two are always under
// way, so that one lands while the other is read.
//
// Owner: a poll group. Thread: its loop's. No allocation in the steady state. Pure.

#ifndef VERBENA_TRANSPORT_FETCH_WINDOW_H_
#define VERBENA_TRANSPORT_FETCH_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "transport/protocol/ring.h"

namespace verbena::transport {

class FetchWindow {
 public:
  // Names a fetch in the window.
  using Ticket = uint64_t;
  static constexpr Ticket kNone = 0;
  static constexpr uint64_t kOldestsTurn = 8;
  // 2 MiB in this time are 400 MB/s, which the window leaves to the slowest of devices.
  static constexpr absl::Duration kPatience = absl::Milliseconds(5);

  // Who fetches, and may have to wait.
  class Fetcher {
   public:
    // The turn of a fetch that waits has come: it is in the window. False: it is not wanted any more, and is not.
    // It may call back for Leave.
    virtual bool OnFetchTurn(uint64_t fetch_id, Ticket ticket) = 0;

   protected:
    ~Fetcher() = default;
  };

  explicit FetchWindow(uint64_t bytes_max);

  // A fetch of `bytes`, at least 1, is to begin. Its ticket if it may, else kNone: OnFetchTurn will be called, from
  // Leave or OnTime.
  Ticket Enter(Fetcher* fetcher, uint64_t fetch_id, uint64_t bytes, absl::Time now);
  // The message was delivered, or is fetched no more. Nothing for kNone, nor for one that has left out of patience.
  void Leave(Ticket ticket, absl::Time now);
  // Drops what waits for `fetcher`, which goes away.
  void Forget(const Fetcher* fetcher);

  // When OnTime has something to do at the earliest, while anybody waits.
  std::optional<absl::Time> NextTime() const;
  void OnTime(absl::Time now);

  uint64_t bytes() const { return bytes_; }    // In the window.
  size_t waiting() const { return waiting_; }  // Some of them may be wanted no more.

 private:
  struct UnderWay {
    uint64_t bytes;    // 0: it has left.
    absl::Time until;  // kPatience is over then.
  };
  struct Waiter {
    Fetcher* fetcher;
    uint64_t fetch_id;
    uint64_t bytes;
    uint64_t arrival;  // Its number among all that waited.
  };
  using Waiters = protocol::Ring<Waiter>;

  bool Fits(uint64_t bytes) const { return bytes_ == 0 || bytes <= bytes_max_ - bytes_; }
  Ticket Admit(uint64_t bytes, absl::Time now);
  void DropThoseWhoLeft();
  // In the order of turns: whether the next is the oldest's, and in which of waiters_ he is who has it. Somebody waits.
  bool IsOldestsTurn() const { return next_ticket_ % kOldestsTurn == 0; }
  size_t Next() const;
  size_t Oldest() const;
  void Add(size_t width, const Waiter& waiter);
  Waiter Take(size_t width);
  void Serve(absl::Time now);

  const uint64_t bytes_max_;
  uint64_t bytes_ = 0;
  protocol::Ring<UnderWay> under_way_;  // By ticket: the last is next_ticket_ - 1.
  Ticket next_ticket_ = kNone + 1;
  std::vector<Waiters> waiters_;  // By the bit width of what they count.
  uint64_t widths_ = 0;           // A bit for each of them that is not empty.
  size_t waiting_ = 0;
  uint64_t arrivals_ = 0;  // Ever.
  bool serving_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_FETCH_WINDOW_H_
