// Threads for authenticators that may block, so that no event loop waits for them.
//
// Owner: shared by a server or a channel and what it has begun. Thread: any.

#ifndef VERBENA_RPC_AUTH_AUTHENTICATION_THREADS_H_
#define VERBENA_RPC_AUTH_AUTHENTICATION_THREADS_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "rpc/auth/authentication.h"
#include "rpc/executor/thread_pool.h"
#include "transport/authentication.h"

namespace verbena::rpc {

class AuthenticationThreads {
 public:
  // Starts threads if `authenticator`, which may be null, needs them.
  AuthenticationThreads(std::shared_ptr<Authenticator> authenticator, int threads, size_t queue_max) {
    if (authenticator == nullptr) return;
    if (authenticator->may_block()) {
      executor_ = std::make_shared<ThreadPool>(threads, queue_max);
      policy_.run = [executor = executor_](absl::AnyInvocable<void()> task) {
        return executor->TrySubmit(std::move(task));
      };
    }
    policy_.authenticator = std::move(authenticator);
  }
  absl::Status status() const { return executor_ == nullptr ? absl::OkStatus() : executor_->status(); }
  const transport::AuthenticationPolicy& policy() const { return policy_; }

  // Nothing is asked any more. Blocks until the authenticator has returned. Before the loops go.
  void Shutdown() {
    if (executor_ != nullptr) executor_->Shutdown();
  }

 private:
  std::shared_ptr<ThreadPool> executor_;
  transport::AuthenticationPolicy policy_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_AUTH_AUTHENTICATION_THREADS_H_
