// The interceptors of one call, in their order.
//
// Owner: the call, and its stream. Thread: the loop's. A chain may serve one call after the other, and allocates
// nothing for the later ones.

#ifndef VERBENA_RPC_INTERCEPTOR_INTERCEPTOR_CHAIN_H_
#define VERBENA_RPC_INTERCEPTOR_INTERCEPTOR_CHAIN_H_

#include <memory>
#include <ranges>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/run_catching.h"
#include "rpc/interceptor/interceptor.h"
#include "rpc/interceptor/message_observer.h"
#include "transport/run_logging.h"

namespace verbena::rpc {

template <typename Context>
class InterceptorChain : public MessageObserver {
 public:
  using Interceptors = std::vector<std::unique_ptr<CallInterceptor<Context>>>;

  InterceptorChain() = default;
  explicit InterceptorChain(Interceptors interceptors) : interceptors_(std::move(interceptors)) {}

  // Those that are interested in a call, into `*into`, which is empty, and stays so otherwise. Internal: a maker threw.
  static absl::Status Make(const std::vector<InterceptorMaker<Context>>& makers, const CalledMethod& method,
                           Interceptors* into) {
    absl::Status made = RunCatching(kWho, [&] {
      for (const InterceptorMaker<Context>& maker : makers) {
        if (auto interceptor = maker(method)) into->push_back(std::move(interceptor));
      }
      return absl::OkStatus();
    });
    if (!made.ok()) into->clear();
    return made;
  }
  // The same into an empty chain.
  absl::Status Gather(const std::vector<InterceptorMaker<Context>>& makers, const CalledMethod& method) {
    return Make(makers, method, &interceptors_);
  }

  // Not OK: one has refused the call, and those before it have heard of its end.
  absl::Status Start(Context& context) {
    for (size_t i = 0; i < interceptors_.size(); ++i) {
      absl::Status started = RunCatching(kWho, [&] { return interceptors_[i]->OnStart(context); });
      if (started.ok()) continue;
      interceptors_.resize(i);
      End(context, started);
      return started;
    }
    return absl::OkStatus();
  }
  void OnSend(const google::protobuf::MessageLite& message) override {
    for (const auto& interceptor : interceptors_) Tell([&] { interceptor->OnSend(message); });
  }
  void OnReceived(const google::protobuf::MessageLite& message) override {
    for (const auto& interceptor : std::views::reverse(interceptors_)) Tell([&] { interceptor->OnReceived(message); });
  }
  // Then the chain is empty. What passes later is nobody's affair.
  void End(const Context& context, const absl::Status& status) {
    auto ended = std::exchange(interceptors_, {});
    for (const auto& interceptor : std::views::reverse(ended)) Tell([&] { interceptor->OnEnd(context, status); });
    ended.clear();
    interceptors_.swap(ended);  // Its memory, for the next call's.
  }

  bool empty() const { return interceptors_.empty(); }  // Nobody is interested, or it has ended.

 private:
  static constexpr absl::string_view kWho = "an interceptor";

  template <typename Call>
  static void Tell(Call&& call) {
    RunLogging(kWho, call);
  }

  Interceptors interceptors_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_INTERCEPTOR_INTERCEPTOR_CHAIN_H_
