// A list of waiters that are linked by themselves: each leaves it when it is destroyed, and the list may go before
// them.
//
// Owner of the list: what is waited for. Of each waiter: its coroutine's frame. Thread: one. Allocates nothing.

#ifndef VERBENA_RPC_COROUTINE_WAITER_LIST_H_
#define VERBENA_RPC_COROUTINE_WAITER_LIST_H_

namespace verbena::coroutine {

// A place in a ring of places. Alone at first.
class WaiterLink {
 public:
  WaiterLink() = default;
  WaiterLink(const WaiterLink&) = delete;
  WaiterLink& operator=(const WaiterLink&) = delete;
  ~WaiterLink() { Unlink(); }

  void LinkBefore(WaiterLink& link) {
    previous_ = link.previous_;
    next_ = &link;
    previous_->next_ = this;
    next_->previous_ = this;
  }
  void Unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }
  WaiterLink* next() const { return next_; }

 private:
  WaiterLink* previous_ = this;
  WaiterLink* next_ = this;
};

// `Waiter` derives from WaiterLink.
template <typename Waiter>
class WaiterList {
 public:
  // `waiter` is in no list.
  void PushBack(Waiter& waiter) { waiter.LinkBefore(ends_); }
  // Null: the list is empty.
  Waiter* PopFront() {
    WaiterLink* const first = ends_.next();
    if (first == &ends_) return nullptr;
    first->Unlink();
    return static_cast<Waiter*>(first);
  }

 private:
  WaiterLink ends_;  // Between the last and the first.
};

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_WAITER_LIST_H_
