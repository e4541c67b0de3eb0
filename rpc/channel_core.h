// What stands behind a Channel: its loops, and on each its connections. Spreads calls; knows which thread it is on.
//
// Owner: the Channel. Thread: as channel.h says.

#ifndef VERBENA_RPC_CHANNEL_CORE_H_
#define VERBENA_RPC_CHANNEL_CORE_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rpc/auth/authentication_threads.h"
#include "rpc/channel.h"
#include "rpc/client_call.h"
#include "rpc/client_connection.h"
#include "rpc/completion_waiter.h"
#include "rpc/loop_handle.h"
#include "rpc/network.h"

namespace verbena::rpc {

class ChannelCore {
 public:
  // See Channel::Create. `network` outlives the core.
  static absl::StatusOr<std::unique_ptr<ChannelCore>> Open(Network* network, absl::string_view address,
                                                           const ChannelOptions& options);
  ~ChannelCore();

  // See CallbackUnaryCall and BlockingUnaryCall.
  void Start(UserCall call);
  absl::Status Block(UserCall call);  // Without `done`.
  // A call of a kind that streams, whose `stream` this makes; `take` gets it before the call can come to an end.
  void StartStreaming(UserCall call, absl::FunctionRef<void(const std::shared_ptr<MessageStream>&)> take);
  // FailedPrecondition: this thread is an event loop's.
  absl::Status CheckMayBlock();
  // Waits for what a loop of this channel brings; drives the loop that the user owns if this is his thread. Cancelled:
  // he has stopped it.
  absl::Status Await(CompletionWaiter& waiter);

  std::string DescribeState() const;

 private:
  // One event loop and the connections on it.
  struct Lane {
    explicit Lane(transport::EventLoop* event_loop)
        : loop(event_loop), handle(std::make_shared<LoopHandle>(event_loop)) {}

    transport::EventLoop* const loop;
    const std::shared_ptr<LoopHandle> handle;
    std::vector<std::unique_ptr<ClientConnection>> connections;
    size_t next = 0;  // Calls go round. The loop's thread.
  };
  // What is taken down together; not always by the thread that destroys the channel.
  struct Lanes {
    std::shared_ptr<AuthenticationThreads> authentication;
    std::unique_ptr<transport::EventLoopGroup> event_loops;  // Null: the user's loop.
    std::vector<std::unique_ptr<Lane>> lanes;
  };
  class BlockedCall;

  ChannelCore(std::string address, const ChannelOptions& options);
  absl::Status StartLoops(Network* network);
  void AddConnections(Network* network);
  void OpenConnections();

  static ClientConnection& NextConnection(Lane& lane);
  static void ShutDown(Lane& lane);
  static void ShutDownOwned(Lanes& lanes);
  static void ShutDownAll(Lanes& lanes);
  static void PostStart(Lane& lane, UserCall call);
  Lane* LaneOfThisThread();  // Null: it is no loop's.
  Lane& NextLane();
  bool DrivesTheLoop() const;
  absl::Status Drive(Lane& lane, BlockedCall& call);

  // Constant after Open.
  const std::string address_;
  const ChannelOptions options_;
  const std::thread::id creator_ = std::this_thread::get_id();
  Lanes lanes_;

  // Any thread.
  std::atomic<uint32_t> next_lane_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CHANNEL_CORE_H_
