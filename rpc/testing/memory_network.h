// A network in memory, which authenticates nobody but says of peers what MemoryConnection::Options does: listeners by
// address, connections between them, loops with virtual time or with real threads.
//
// Owner: the test; outlives every channel and server on it. Thread: any; the latest ends: the loops' threads are idle
// or one.

#ifndef VERBENA_RPC_TESTING_MEMORY_NETWORK_H_
#define VERBENA_RPC_TESTING_MEMORY_NETWORK_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "rpc/network.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/memory_connection.h"

namespace verbena::testing {

class MemoryNetwork : public rpc::Network {
 public:
  // Every loop that is asked for is `loop`, in virtual time; or, with null, a loop with a thread of its own.
  explicit MemoryNetwork(ManualLoop* loop = nullptr) : manual_loop_(loop) {}

  absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> StartLoops(
      int count, const transport::EventLoopOptions& options) override;
  absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(absl::string_view address,
                                                              const transport::TransportOptions& options,
                                                              std::vector<transport::EventLoop*> loops,
                                                              transport::Listener::AcceptCallback on_accept,
                                                              const transport::AuthenticationPolicy& policy) override;
  void Connect(absl::string_view address, const transport::TransportOptions& options, transport::EventLoop* loop,
               transport::ConnectCallback done, const transport::AuthenticationPolicy& policy) override;
  // In virtual time, one whose handlers take turns with the loop.
  std::unique_ptr<rpc::Executor> StartExecutor(int threads, rpc::Executor::Work work) override;
  // In virtual time the loop's.
  absl::Time SteadyNow() override { return manual_loop_ == nullptr ? Network::SteadyNow() : manual_loop_->Now(); }
  // In virtual time the same in every run.
  uint64_t RandomSeed() override;

  // Of connections made from here on; how long silence lasts is the connecting side's to say.
  void set_connection_options(const MemoryConnection::Options& options);
  size_t connects() const;

  // Faults; any thread. Connects stay unanswered for this long.
  void set_connect_delay(absl::Duration delay);
  // Every message of every connection arrives this much later, in order.
  void set_message_delay(absl::Duration delay);
  // Every connection breaks: UNAVAILABLE at both ends.
  void Sever();
  // Connects fail so, until it is OK.
  void set_connect_error(absl::Status error);
  // True: every connection is a black hole for the rest of its life (MemoryConnection::BlackHole), and connects stay
  // unanswered until handshake_timeout.
  void set_silent(bool silent);
  // The latest connection's ends. Null: there was none, or its owner has destroyed it.
  MemoryConnection* latest_client() const { return latest_client_.lock().get(); }
  MemoryConnection* latest_server() const { return latest_server_.lock().get(); }

 private:
  class MemoryListener;
  void Forget(MemoryListener* listener);
  void ConnectNow(const std::string& address, const transport::TransportOptions& options, transport::EventLoop* loop,
                  transport::ConnectCallback& done);
  absl::StatusOr<std::unique_ptr<MemoryConnection>> MakeConnection(const std::string& address,
                                                                   const transport::TransportOptions& options,
                                                                   transport::EventLoop* loop);
  bool IsSilent() const;
  void OnEveryEnd(void (MemoryConnection::*what)());

  ManualLoop* const manual_loop_;
  std::weak_ptr<MemoryConnection> latest_client_;
  std::weak_ptr<MemoryConnection> latest_server_;

  mutable std::mutex mu_;
  MemoryConnection::Options connection_options_ ABSL_GUARDED_BY(mu_);
  absl::Duration connect_delay_ ABSL_GUARDED_BY(mu_) = absl::ZeroDuration();
  absl::Duration message_delay_ ABSL_GUARDED_BY(mu_) = absl::ZeroDuration();
  absl::Status connect_error_ ABSL_GUARDED_BY(mu_);
  bool silent_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::weak_ptr<MemoryLink>> links_ ABSL_GUARDED_BY(mu_);
  uint64_t last_seed_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, MemoryListener*> listeners_ ABSL_GUARDED_BY(mu_);
  size_t connects_ ABSL_GUARDED_BY(mu_) = 0;
  int last_port_ ABSL_GUARDED_BY(mu_) = 40000;

  // For what a loop has to do later: expires with this. Owns nothing.
  const std::shared_ptr<MemoryNetwork> self_{this, [](MemoryNetwork*) {}};
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_MEMORY_NETWORK_H_
