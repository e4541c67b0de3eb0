// What the functions of this layer return to be awaited: the arguments of an awaiter. The awaiter itself is made by
// co_await, in the frame of the coroutine that awaits, and so dies with it: destroyed while suspended, it takes back
// whatever would have resumed the coroutine.
//
// Owner: the caller, who awaits it once, as an rvalue. Allocates nothing.

#ifndef VERBENA_RPC_COROUTINE_AWAITABLE_H_
#define VERBENA_RPC_COROUTINE_AWAITABLE_H_

#include <tuple>
#include <utility>

namespace verbena::coroutine {

template <typename Awaiter, typename... Args>
class [[nodiscard]] Awaitable {
 public:
  explicit Awaitable(Args... args) : args_(std::move(args)...) {}

  Awaiter operator co_await() && { return std::make_from_tuple<Awaiter>(std::move(args_)); }

 private:
  std::tuple<Args...> args_;
};

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_AWAITABLE_H_
