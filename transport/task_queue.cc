#include "transport/task_queue.h"

#include <utility>

namespace verbena::transport {

TaskQueue::~TaskQueue() {
  Clear();
  for (std::atomic<Node*>& spare : spares_) delete spare.load(std::memory_order_relaxed);
}

void TaskQueue::Push(Task task) {
  Node* const node = NewNode();
  node->task = std::move(task);
  node->next = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(node->next, node, std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
}

int TaskQueue::RunAll() {
  int count = 0;
  for (Node* node = TakeAll(); node != nullptr; ++count) {
    Node* const next = node->next;
    std::exchange(node->task, nullptr)();
    Recycle(node);
    node = next;
  }
  return count;
}

void TaskQueue::Clear() {
  while (Node* node = TakeAll()) {
    while (node != nullptr) {
      Node* const next = node->next;
      node->task = nullptr;
      Recycle(node);
      node = next;
    }
  }
}

TaskQueue::Node* TaskQueue::TakeAll() {
  Node* newest_first = newest_.exchange(nullptr, std::memory_order_acquire);
  Node* oldest_first = nullptr;
  while (newest_first != nullptr) {
    Node* const before = std::exchange(newest_first->next, oldest_first);
    oldest_first = std::exchange(newest_first, before);
  }
  return oldest_first;
}

TaskQueue::Node* TaskQueue::NewNode() {
  for (std::atomic<Node*>& spare : spares_) {
    if (spare.load(std::memory_order_relaxed) == nullptr) continue;
    if (Node* const node = spare.exchange(nullptr, std::memory_order_acquire); node != nullptr) return node;
  }
  return new Node;
}

void TaskQueue::Recycle(Node* node) {
  for (std::atomic<Node*>& spare : spares_) {
    if (spare.load(std::memory_order_relaxed) != nullptr) continue;
    return spare.store(node, std::memory_order_release);  // Nobody else fills it.
  }
  delete node;
}

}  // namespace verbena::transport
