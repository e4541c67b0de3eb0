// What stands behind a Channel: its loops, a lane on each, and where the names of servers come from. Spreads calls over
// the lanes; knows which thread it is on.
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
#include "rpc/channel_lane.h"
#include "rpc/completion_waiter.h"
#include "rpc/connectivity_board.h"
#include "rpc/network.h"
#include "rpc/server_names.h"
#include "rpc/user_call.h"

namespace verbena::rpc {

class ChannelCore {
 public:
  // See Channel::Create. `network` outlives the core.
  static absl::StatusOr<std::unique_ptr<ChannelCore>> Open(Network* network, absl::string_view target,
                                                           const ChannelOptions& options);
  ~ChannelCore();

  // See CallbackUnaryCall and BlockingUnaryCall.
  void Start(UserCall&& call);
  absl::Status Block(UserCall call);  // Without `done`.
  // A call of a kind that streams, whose `stream` this makes; `take` gets it before the call can come to an end.
  void StartStreaming(UserCall call, absl::FunctionRef<void(const std::shared_ptr<MessageStream>&)> take);
  // FailedPrecondition: this thread is an event loop's.
  absl::Status CheckMayBlock();
  // Who made the channel drives its loop; calls that block are his, or wait for him.
  bool HasCallersLoop() const { return options_.loop != nullptr; }
  // Waits for what a loop of this channel brings; drives the loop that the user owns if this is his thread. Cancelled:
  // he has stopped it.
  absl::Status Await(CompletionWaiter& waiter);

  std::string DescribeState() const;
  ConnectivityBoard& connectivity() { return *board_; }
  void Connect() { OnEachLane(&ChannelLane::Connect); }
  bool WaitUntilReady(absl::Duration timeout);

 private:
  using Lane = std::shared_ptr<ChannelLane>;
  // What is taken down together; not always by the thread that destroys the channel.
  struct Lanes {
    std::shared_ptr<AuthenticationThreads> authentication;
    std::unique_ptr<transport::EventLoopGroup> event_loops;  // Null: the user's loop.
    std::vector<Lane> lanes;
  };
  class BlockedCall;

  ChannelCore(std::string target, const ChannelOptions& options);
  absl::StatusOr<std::vector<transport::EventLoop*>> StartLoops(Network* network);
  absl::Status MakeLanes(Network* network, const std::vector<transport::EventLoop*>& loops);
  absl::Status StartNames(Network* network);
  void OnEachLane(void (ChannelLane::*what)());

  static void ShutDownOwned(Lanes& lanes);
  static void ShutDownAll(Lanes& lanes);
  static void ShutDownElsewhere(Lanes&& lanes);
  const Lane* LaneOfThisThread();  // Null: it is no loop's.
  const Lane& NextLane();
  bool DrivesTheLoop() const;
  absl::Status Drive(const Lane& lane, BlockedCall& call);

  // Constant after Open.
  const std::string target_;
  const ChannelOptions options_;
  const std::thread::id creator_ = std::this_thread::get_id();
  const std::shared_ptr<ConnectivityBoard> board_ = std::make_shared<ConnectivityBoard>();
  const std::shared_ptr<ServerNames> names_ = std::make_shared<ServerNames>();
  Lanes lanes_;

  // Any thread.
  std::atomic<uint32_t> next_lane_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CHANNEL_CORE_H_
