// What others have for one coroutine: a bounded queue that it awaits. A handler that streams news to its client has
// one.
//
//   const auto mailbox = std::make_shared<Mailbox<demo::Change>>(*EventLoop::OfThisThread(), 256);
//   …
//   while (std::optional<demo::Change> change = co_await mailbox->Next()) …
//   co_return mailbox->end();
//
// Nobody waits for a reader that is behind: what comes when the mailbox is full closes it.
//
// Owner: shared by the reader and those who put. Thread: Next is for the loop's, by one coroutine at a time; the others
// are for any, while the loop lives.

#ifndef VERBENA_EXAMPLES_MAILBOX_MAILBOX_H_
#define VERBENA_EXAMPLES_MAILBOX_MAILBOX_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rpc/coroutine/event.h"
#include "rpc/coroutine/task.h"
#include "rpc/options.h"

namespace verbena::examples {

template <typename Message>
class Mailbox : public std::enable_shared_from_this<Mailbox<Message>> {
 public:
  // Holds `messages_max` unread messages at most. `loop` is the reader's.
  Mailbox(EventLoop& loop, size_t messages_max) : loop_(loop), messages_max_(messages_max) {}

  // Into a full mailbox: closes it as RESOURCE_EXHAUSTED. Into a closed one: is dropped.
  void Put(Message message) {
    const std::lock_guard lock(mu_);
    if (end_.has_value()) return;
    if (messages_.size() < messages_max_) {
      messages_.push_back(std::move(message));
    } else {
      end_ = absl::ResourceExhaustedError(absl::StrCat("more than ", messages_max_, " messages were not read in time"));
    }
    Wake();
  }

  // No message follows; those that are here can still be read. The first to close it says why.
  void Close(absl::Status why) {
    const std::lock_guard lock(mu_);
    if (end_.has_value()) return;
    end_ = std::move(why);
    Wake();
  }

  // The next message, when there is one. Nothing: it is closed, and all were read.
  Task<std::optional<Message>> Next() {
    while (IsToWait()) co_await news_->Wait();
    co_return Take();
  }

  // Why it was closed; OK as long as it is not.
  absl::Status end() const {
    const std::lock_guard lock(mu_);
    return end_.value_or(absl::OkStatus());
  }

 private:
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!std::exchange(is_awaited_, false)) return;
    loop_.Post([self = this->shared_from_this()] { self->news_->Set(); });
  }
  bool IsToWait() {
    const std::lock_guard lock(mu_);
    if (!messages_.empty() || end_.has_value()) return false;
    news_.emplace(loop_);
    is_awaited_ = true;
    return true;
  }
  std::optional<Message> Take() {
    const std::lock_guard lock(mu_);
    if (messages_.empty()) return std::nullopt;
    std::optional<Message> message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  EventLoop& loop_;
  const size_t messages_max_;

  std::optional<OneShotEvent> news_;  // Owned by the loop's thread.

  mutable std::mutex mu_;
  std::deque<Message> messages_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);  // Nothing: open.
  bool is_awaited_ ABSL_GUARDED_BY(mu_) = false;          // news_ is to be set.
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_MAILBOX_MAILBOX_H_
