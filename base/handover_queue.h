// What any thread hands to one, without a lock.
//
// Producers push onto a list whose head they exchange; the consumer takes the whole list in one step and turns it round
// (Treiber, "Systems Programming: Coping with Parallelism", 1986; nothing is popped singly, so an address that comes
// back confuses nobody). Whoever is held up anywhere holds up no other thread. Nodes are kept for use again, in chains
// that a producer takes whole and gives back but for their first: in the steady state nothing is allocated. They are as
// many as there ever were at once, (kChains + 1) * kChainMax at most.
//
// Owner: the consumer; producers are done with it before it goes. Thread: as each method says. The consumer may be
// another thread each time if what one did happens before what the next does.

#ifndef VERBENA_BASE_HANDOVER_QUEUE_H_
#define VERBENA_BASE_HANDOVER_QUEUE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace verbena {

template <typename T>
class HandoverQueue {
 public:
  HandoverQueue() = default;
  HandoverQueue(const HandoverQueue&) = delete;
  HandoverQueue& operator=(const HandoverQueue&) = delete;
  // Clears it. The last to use it.
  ~HandoverQueue() {
    Clear();
    for (std::atomic<Node*>& spares : spares_) DeleteChain(spares.load(std::memory_order_relaxed));
    DeleteChain(used_);
  }

  // Any thread. Sequentially consistent with empty().
  void Push(T value) {
    Node* const node = NewNode();
    node->value.emplace(std::move(value));
    node->next = newest_.load(std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(node->next, node, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    }
  }
  bool empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

  // empty(), for a consumer that is about to make way: for the thread that pushes afterwards, whatever the consumer did
  // before this has happened.
  bool IsStillEmpty() {
    Node* expected = nullptr;
    return newest_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  // Calls `take` with each thing that has been pushed, in order of pushing, and destroys it before the next; what that
  // pushes waits for the next call. Returns how many there were. The consumer.
  template <typename Take>
  int TakeAll(Take take) {
    int count = 0;
    for (Node* node = TakeList(); node != nullptr; ++count) {
      Node* const next = node->next;
      take(*std::exchange(node->value, std::nullopt));
      Recycle(node);
      node = next;
    }
    OfferUsed();
    return count;
  }

  // Destroys what has been pushed, in order, until nothing is left. The consumer.
  void Clear() {
    while (TakeAll([](T&&) {}) > 0) {
    }
  }

 private:
  static constexpr size_t kChains = 8;     // For so many producers at once.
  static constexpr size_t kChainMax = 32;  // In nodes. What loops and channels are handed in one turn is seldom more
                                           // than the 256 of all chains.

  struct Node {
    std::optional<T> value;
    Node* next = nullptr;  // Pushed before it, in the queue; after it, once taken.
  };

  // Oldest first.
  Node* TakeList() {
    Node* newest_first = newest_.exchange(nullptr, std::memory_order_acquire);
    Node* oldest_first = nullptr;
    while (newest_first != nullptr) {
      Node* const before = std::exchange(newest_first->next, oldest_first);
      oldest_first = std::exchange(newest_first, before);
    }
    return oldest_first;
  }

  Node* NewNode() {
    for (std::atomic<Node*>& spares : spares_) {
      if (spares.load(std::memory_order_relaxed) == nullptr) continue;
      Node* const node = spares.exchange(nullptr, std::memory_order_acquire);
      if (node == nullptr) continue;
      if (Node* const rest = std::exchange(node->next, nullptr); rest != nullptr && !Offer(rest)) DeleteChain(rest);
      return node;
    }
    return new Node;
  }
  // False: there is no place for more.
  bool Offer(Node* chain) {
    for (std::atomic<Node*>& spares : spares_) {
      Node* nothing = nullptr;
      if (spares.load(std::memory_order_relaxed) == nullptr &&
          spares.compare_exchange_strong(nothing, chain, std::memory_order_release, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  static void DeleteChain(Node* chain) {
    while (chain != nullptr) delete std::exchange(chain, chain->next);
  }

  void Recycle(Node* node) {
    if (used_count_ == kChainMax) OfferUsed();
    if (used_count_ == kChainMax) {
      delete node;
      return;
    }
    node->next = std::exchange(used_, node);
    ++used_count_;
  }
  void OfferUsed() {
    if (used_ == nullptr || !Offer(used_)) return;
    used_ = nullptr;
    used_count_ = 0;
  }

  std::atomic<Node*> newest_ = nullptr;
  // Nodes for use again: each place is empty or has a chain.
  std::array<std::atomic<Node*>, kChains> spares_ = {};
  // The consumer's: what it has used, while there is no place for it.
  Node* used_ = nullptr;
  size_t used_count_ = 0;
};

}  // namespace verbena

#endif  // VERBENA_BASE_HANDOVER_QUEUE_H_
