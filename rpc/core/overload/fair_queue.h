// What waits, in a line for each client. Clients are served in turn, one from each line, so that how long somebody
// waits depends on how many others wait and not on how much they ask for. Within a line it is first come, first served,
// until somebody is taken from it out of turn, for having waited too long: then the newest goes first, since those
// before it are about to follow (adaptive LIFO). Order returns when the line has been empty.
//
// The places to wait are bounded and shared in the same spirit. While some are free, anybody may take them: a client
// that is alone may have them all. When none is left, the longest line gives up its last (longest queue drop, as in
// FQ-CoDel, RFC 8290), which is the newcomer himself if his own line is among the longest. So who floods loses only
// what is his, and nobody else can lose the place that he has while his line is not the longest.
//
//   ada    a1 a2 a3 a4 a5           PopNext: a1 b1 c1 a2 b2 a3 …
//   bob    b1 b2                    full, and carl comes again: a5 goes for c2
//   carl   c1                       full, and ada comes again: that one is refused
//
// Owner and thread: the user's, one at a time. Memory grows to the most that ever waited at once; after that nothing
// here allocates. All is O(1) but Push and HasPlaceFor when no place is free: O(clients that wait).

#ifndef VERBENA_RPC_CORE_OVERLOAD_FAIR_QUEUE_H_
#define VERBENA_RPC_CORE_OVERLOAD_FAIR_QUEUE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "rpc/core/overload/client_id.h"
#include "rpc/core/overload/index_list.h"

namespace verbena::rpc {

template <typename T>
class FairQueue {
 public:
  struct Entry {
    ClientId client;
    absl::Time since;  // When it came.
    T value;
  };

  // At most `places`, at least one and below 2^32, wait at once.
  explicit FairQueue(size_t places) : places_(places) { assert(places > 0 && places <= kNoIndex); }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t places() const { return places_; }
  // How many of this client's wait.
  size_t LengthOf(ClientId client) const {
    const auto line = line_of_.find(client);
    return line == line_of_.end() ? 0 : lines_[line->second].length;
  }
  // When the oldest of all came. Not empty.
  absl::Time oldest_since() const { return entries_[ages_.first()].since; }

  // Whether Push would find a place for one more of this client's, be it another's.
  bool HasPlaceFor(ClientId client) const {
    return size_ < places_ || LengthOf(client) + 1 < lines_[LongestLine()].length;
  }

  // Puts `value` at the end of its client's line. `now` never goes back. Returns what has no place: nothing, the last
  // of a longer line, or `value`.
  std::optional<Entry> Push(ClientId client, T value, absl::Time now) {
    if (!HasPlaceFor(client)) return Entry{client, now, std::move(value)};
    std::optional<Entry> dropped;
    if (size_ == places_) dropped = Take(lines_[LongestLine()].entries.last());
    Add(client, std::move(value), now);
    return dropped;
  }

  // The next of the client whose turn it is. Not empty.
  Entry PopNext() {
    const uint32_t index = turns_.first();
    const Line& line = lines_[index];
    Entry entry = Take(line.newest_first ? line.entries.last() : line.entries.first());
    if (lines_[index].length > 0) {
      turns_.Remove(lines_, index);
      turns_.Append(lines_, index);
    }
    return entry;
  }

  // The one that came first of all, out of turn. Not empty.
  Entry PopOldest() {
    lines_[entries_[ages_.first()].line].newest_first = true;
    return Take(ages_.first());
  }

 private:
  struct Place {
    std::optional<T> value;  // None: free.
    absl::Time since;
    uint32_t line = kNoIndex;
    IndexLink in_line;
    IndexLink by_age;
  };
  struct Line {
    ClientId client{0};
    size_t length = 0;  // 0: the line is free.
    bool newest_first = false;
    IndexList<Place, &Place::in_line> entries;
    IndexLink in_turn;
  };

  void Add(ClientId client, T value, absl::Time now) {
    const uint32_t line = LineFor(client);
    const uint32_t place = Claim(entries_, free_places_);
    entries_[place].value = std::move(value);
    entries_[place].since = now;
    entries_[place].line = line;
    lines_[line].entries.Append(entries_, place);
    ages_.Append(entries_, place);
    ++lines_[line].length;
    ++size_;
  }

  Entry Take(uint32_t place) {
    Place& taken = entries_[place];
    const uint32_t index = taken.line;
    Line& line = lines_[index];
    Entry entry{line.client, taken.since, *std::exchange(taken.value, std::nullopt)};
    line.entries.Remove(entries_, place);
    ages_.Remove(entries_, place);
    free_places_.push_back(place);
    --size_;
    if (--line.length == 0) {
      turns_.Remove(lines_, index);
      line_of_.erase(line.client);
      free_lines_.push_back(index);
    }
    return entry;
  }

  uint32_t LineFor(ClientId client) {
    const auto [found, is_new] = line_of_.try_emplace(client, kNoIndex);
    if (is_new) {
      found->second = Claim(lines_, free_lines_);
      lines_[found->second].client = client;
      lines_[found->second].newest_first = false;
      turns_.Append(lines_, found->second);
    }
    return found->second;
  }

  // Of those that are equally long, the one whose turn comes first. Not empty.
  uint32_t LongestLine() const {
    uint32_t longest = turns_.first();
    for (uint32_t line = longest; line != kNoIndex; line = lines_[line].in_turn.after) {
      if (lines_[line].length > lines_[longest].length) longest = line;
    }
    return longest;
  }

  template <typename Element>
  static uint32_t Claim(std::vector<Element>& elements, std::vector<uint32_t>& free) {
    if (free.empty()) {
      elements.emplace_back();
      return static_cast<uint32_t>(elements.size() - 1);
    }
    const uint32_t index = free.back();
    free.pop_back();
    return index;
  }

  const size_t places_;
  size_t size_ = 0;
  std::vector<Place> entries_;
  std::vector<Line> lines_;
  std::vector<uint32_t> free_places_;
  std::vector<uint32_t> free_lines_;
  absl::flat_hash_map<ClientId, uint32_t> line_of_;
  IndexList<Place, &Place::by_age> ages_;  // Of all that wait, the oldest first.
  IndexList<Line, &Line::in_turn> turns_;  // Of all lines, the next first.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_FAIR_QUEUE_H_
