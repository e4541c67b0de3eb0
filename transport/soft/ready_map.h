// Which queue pairs have something for a completion queue: a bitmap in shared memory, so that polling with hundreds of
// queue pairs costs what the ready ones cost.
//
// Setters (peers and our own threads) publish their news first, then Set. The one consumer takes the bits, then reads
// the news; a bit set meanwhile is seen next time. All operations are sequentially consistent: a setter that finds its
// bit already set knows that the taker has not looked at the news yet.
//
// Thread: Set and AnyReady from any thread of any process; Take by the holder of the completion queue's progress lock.

#ifndef VERBENA_TRANSPORT_SOFT_READY_MAP_H_
#define VERBENA_TRANSPORT_SOFT_READY_MAP_H_

#include <bit>
#include <memory>
#include <utility>

#include "transport/soft/shared_layout.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {

class ReadyMap {
 public:
  explicit ReadyMap(std::shared_ptr<SharedMapping> mapping)
      : mapping_(std::move(mapping)), memory_(&mapping_->ready()) {}

  void Set(uint32_t index) {
    SetBit(memory_->words[index / 64], index % 64);
    SetBit(memory_->summary, index / 64 / kReadyWordsOfGroup);
  }

  bool AnyReady() const { return memory_->summary.load() != 0; }

  // Clears every bit and calls visit(index) for each that was set.
  template <typename Visit>
  void Take(Visit visit) {
    uint64_t summary = memory_->summary.exchange(0);
    for (; summary != 0; summary &= summary - 1) {
      uint32_t first = static_cast<uint32_t>(std::countr_zero(summary)) * kReadyWordsOfGroup;
      for (uint32_t word = first; word < first + kReadyWordsOfGroup; ++word) TakeWord(word, visit);
    }
  }

  const SharedMapping& mapping() const { return *mapping_; }

 private:
  template <typename Visit>
  void TakeWord(uint32_t word, Visit& visit) {
    if (memory_->words[word].load() == 0) return;  // Mostly one of a group is set, and to write is dear.
    uint64_t bits = memory_->words[word].exchange(0);
    for (; bits != 0; bits &= bits - 1) visit(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
  }

  static void SetBit(std::atomic<uint64_t>& word, uint32_t bit) {
    uint64_t mask = uint64_t{1} << bit;
    if ((word.load() & mask) == 0) word.fetch_or(mask);
  }

  std::shared_ptr<SharedMapping> mapping_;
  ReadyMemory* memory_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_READY_MAP_H_
