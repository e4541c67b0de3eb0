// Tasks that any thread hands to one, without a lock.
//
// Producers push onto a list whose head they exchange; the consumer takes the whole list in one step and turns it round
// (Treiber, "Systems Programming: Coping with Parallelism", 1986; nothing is popped singly, so an address that comes
// back confuses nobody). Whoever is held up anywhere holds up no other thread. A few nodes are kept for use again: a
// thread that hands over a task at a time allocates none.
//
// Owner: an event loop; producers are done with it before it goes. Thread: as each method says.

#ifndef VERBENA_TRANSPORT_TASK_QUEUE_H_
#define VERBENA_TRANSPORT_TASK_QUEUE_H_

#include <array>
#include <atomic>

#include "absl/functional/any_invocable.h"

namespace verbena::transport {

class TaskQueue {
 public:
  using Task = absl::AnyInvocable<void()>;

  TaskQueue() = default;
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;
  ~TaskQueue();  // Destroys what is left unrun, in order; what that pushes, too.

  // Any thread. Sequentially consistent with empty().
  void Push(Task task);
  bool empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

  // Runs what has been pushed, in order of pushing; what that pushes waits for the next call. Returns how many there
  // were. The consumer's thread.
  int RunAll();
  // Destroys what has been pushed, in order, until nothing is left. The consumer's thread, or the last to use it.
  void Clear();

 private:
  struct Node {
    Task task;
    Node* next = nullptr;  // Pushed before it, in the queue; after it, once taken.
  };

  Node* NewNode();
  void Recycle(Node* node);
  Node* TakeAll();  // Oldest first.

  std::atomic<Node*> newest_ = nullptr;
  // Filled by the consumer, emptied by producers.
  std::array<std::atomic<Node*>, 8> spares_ = {};
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_TASK_QUEUE_H_
