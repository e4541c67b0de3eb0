// What stands behind a Server: listeners, loops and the executor, started and taken down in order.
//
// Owner: the Server. Thread: any but the loops' and the executor's; the destructor not at the same time as another
// call.

#ifndef VERBENA_RPC_SERVER_CORE_H_
#define VERBENA_RPC_SERVER_CORE_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "rpc/auth/authentication_threads.h"
#include "rpc/auth/call_guard.h"
#include "rpc/executor/handler_queue.h"
#include "rpc/method_registry.h"
#include "rpc/network.h"
#include "rpc/server.h"
#include "rpc/server_loop.h"

namespace verbena::rpc {

// Who may call.
struct ServerAccess {
  std::shared_ptr<Authenticator> authenticator;
  Authorizer authorizer;
};

class ServerCore {
 public:
  // See Server::Builder::Build. `network` outlives the core.
  static absl::StatusOr<std::unique_ptr<ServerCore>> Start(Network* network, const ServerOptions& options,
                                                           const std::vector<std::string>& addresses,
                                                           const std::vector<Service*>& services,
                                                           const ServerAccess& access = {});
  ~ServerCore();

  // See Server.
  const std::vector<std::string>& addresses() const { return addresses_; }
  void Wait();
  void Shutdown(absl::Time deadline);
  void SetLoad(double load);
  ServerCounters counters();

 private:
  enum class Phase {
    kServing,       // Ended by Shutdown.
    kShuttingDown,  // Ended by the drain, or its deadline.
    kShutDown,
  };

  ServerCore(const ServerOptions& options, std::unique_ptr<MethodRegistry> methods, const ServerAccess& access,
             Network* network);
  absl::Status StartLoops(Network* network);
  absl::Status Listen(Network* network, const std::vector<std::string>& addresses);
  void LogStart() const;
  void CloseListeners();
  bool DrainLoops(absl::Time deadline);  // False: the deadline came first.
  void AwaitCoroutines();
  void OnEveryLoop(absl::FunctionRef<void(ServerLoop&)> task);

  // Constant after Start. Destroyed from the last to the first: listeners, then loops, then what their calls need.
  const ServerOptions options_;
  const std::unique_ptr<MethodRegistry> methods_;
  AccessControl access_;
  AuthenticationThreads authentication_;
  std::unique_ptr<HandlerQueue> handlers_;  // Null: no method blocks.
  std::unique_ptr<transport::EventLoopGroup> event_loops_;
  std::vector<std::unique_ptr<ServerLoop>> loops_;  // One for each event loop.
  std::vector<std::string> addresses_;
  std::vector<Service*> services_;  // None: the server did not start.

  std::mutex mu_;
  std::condition_variable changed_;
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kServing;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;  // Touched by Start, then by the one that shuts down.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_SERVER_CORE_H_
