// The memory windows of one queue pair: those that are lent to exports, and those that wait for the next. Allocating
// one costs a call into the kernel, binding it a work request.
//
// They belong to one queue pair, and Close takes all away before it is destroyed, bound or not: a driver may keep a
// queue pair for as long as a window is bound on it (Soft-RoCE waits 50 s for that to end, in ibv_destroy_qp). For the
// same reason they are made after it: the kernel takes the objects of a killed process in reverse order of their
// making.
//
// Owner: a link. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_WINDOW_POOL_H_
#define VERBENA_TRANSPORT_WINDOW_POOL_H_

#include <iterator>
#include <list>
#include <utility>

#include "absl/status/statusor.h"
#include "transport/verbs/memory_window.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class WindowPool {
 public:
  // A window on loan; destroying it gives it back. That must not happen while the window is bound or something that
  // binds it is in flight, unless the pool is closed; and not after the pool is destroyed.
  class Loan {
   public:
    Loan(Loan&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), window_(other.window_) {}
    Loan& operator=(Loan&& other) noexcept {  // What this held goes with `other`.
      std::swap(pool_, other.pool_);
      std::swap(window_, other.window_);
      return *this;
    }
    ~Loan() {
      if (pool_ != nullptr) pool_->TakeBack(window_);
    }

    // Until the pool is closed.
    verbs::MemoryWindow& operator*() const { return *window_; }

   private:
    friend class WindowPool;
    using Position = std::list<verbs::MemoryWindow>::iterator;
    Loan(WindowPool* pool, Position window) : pool_(pool), window_(window) {}

    WindowPool* pool_;  // Null: moved from.
    Position window_;
  };

  explicit WindowPool(const verbs::ProtectionDomain& domain) : domain_(domain) {}

  // One that is not bound. Fails when the device has no more.
  absl::StatusOr<Loan> Lend() {
    if (free_.empty()) {
      absl::StatusOr<verbs::MemoryWindow> window = verbs::MemoryWindow::Allocate(domain_);
      if (!window.ok()) return window.status();
      free_.push_back(*std::move(window));
    }
    lent_.splice(lent_.end(), free_, free_.begin());
    return Loan(this, std::prev(lent_.end()));
  }

  // Gives all to the device, those on loan too. The queue pair is in ERR, so that the peer reaches nothing any more.
  void Close() {
    closed_ = true;
    lent_.clear();
    free_.clear();
  }

 private:
  void TakeBack(Loan::Position window) {
    if (!closed_) free_.splice(free_.begin(), lent_, window);
  }

  const verbs::ProtectionDomain& domain_;
  std::list<verbs::MemoryWindow> lent_;
  std::list<verbs::MemoryWindow> free_;
  bool closed_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_WINDOW_POOL_H_
