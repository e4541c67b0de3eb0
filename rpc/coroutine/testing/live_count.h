// How many of the tokens that were made of it live: what a frame holds, and whether it was destroyed, and once.
//
// Owner: the test. Thread: one.

#ifndef VERBENA_RPC_COROUTINE_TESTING_LIVE_COUNT_H_
#define VERBENA_RPC_COROUTINE_TESTING_LIVE_COUNT_H_

#include <utility>

namespace verbena::testing {

class LiveCount {
 public:
  class Token {
   public:
    explicit Token(LiveCount* count) : count_(count) { ++count_->live_; }
    Token(Token&& from) noexcept : count_(std::exchange(from.count_, nullptr)) {}
    ~Token() {
      if (count_ != nullptr) --count_->live_;
    }

   private:
    LiveCount* count_;  // Null: moved from.
  };

  Token Make() { return Token(this); }
  int live() const { return live_; }

 private:
  int live_ = 0;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_COROUTINE_TESTING_LIVE_COUNT_H_
