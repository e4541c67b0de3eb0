// What any thread hands to one, without a lock.
//
// Producers push onto a list whose head they exchange; the consumer takes the whole list in one step and turns it round
// (Treiber, "Systems Programming: Coping with Parallelism", 1986; nothing is popped singly, so an address that comes
// back confuses nobody). Whoever is held up anywhere holds up no other thread. A few nodes are kept for use again: a
// thread that hands over one thing at a time allocates none.
//
// Owner: the consumer; producers are done with it before it goes. Thread: as each method says. The consumer may be
// another thread each time if what one did happens before what the next does.

#ifndef VERBENA_BASE_HANDOVER_QUEUE_H_
#define VERBENA_BASE_HANDOVER_QUEUE_H_

#include <array>
#include <atomic>
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
    for (std::atomic<Node*>& spare : spares_) delete spare.load(std::memory_order_relaxed);
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
    return count;
  }

  // Destroys what has been pushed, in order, until nothing is left. The consumer.
  void Clear() {
    while (TakeAll([](T&&) {}) > 0) {
    }
  }

 private:
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
    for (std::atomic<Node*>& spare : spares_) {
      if (spare.load(std::memory_order_relaxed) == nullptr) continue;
      if (Node* const node = spare.exchange(nullptr, std::memory_order_acquire); node != nullptr) return node;
    }
    return new Node;
  }

  void Recycle(Node* node) {
    for (std::atomic<Node*>& spare : spares_) {
      if (spare.load(std::memory_order_relaxed) != nullptr) continue;
      return spare.store(node, std::memory_order_release);  // Nobody else fills it.
    }
    delete node;
  }

  std::atomic<Node*> newest_ = nullptr;
  // Filled by the consumer, emptied by producers.
  std::array<std::atomic<Node*>, 8> spares_ = {};
};

}  // namespace verbena

#endif  // VERBENA_BASE_HANDOVER_QUEUE_H_
