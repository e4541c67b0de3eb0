// A call of rdma_connect on a thread of its own. An iWARP device makes its caller wait for TCP: at a host that does not
// answer for minutes, and a loop has others to serve.
//
// Until the call has returned nothing else may be called on the id, and neither it nor its queue pair be destroyed: the
// kernel keeps whoever tries waiting for as long. Events of the id may come before, though.
//
// Owner: the link that connects. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_BLOCKING_CONNECT_H_
#define VERBENA_TRANSPORT_BLOCKING_CONNECT_H_

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/event_loop.h"
#include "transport/verbs/connection_id.h"

namespace verbena::transport {

class BlockingConnect : public std::enable_shared_from_this<BlockingConnect> {
 public:
  using ReturnCallback = absl::AnyInvocable<void(const absl::Status&)>;

  // Calls id->Connect(parameters), whose private data is copied. `on_return` runs on the loop with what the call
  // returned, unless this is destroyed before, and may destroy this. ResourceExhausted: there is no thread to be had.
  static absl::StatusOr<std::shared_ptr<BlockingConnect>> Start(EventLoop* loop, verbs::ConnectionId* id,
                                                                const verbs::ConnectionParameters& parameters,
                                                                ReturnCallback on_return);
  BlockingConnect(const BlockingConnect&) = delete;
  BlockingConnect& operator=(const BlockingConnect&) = delete;
  ~BlockingConnect();  // Waits until the call has returned.

 private:
  BlockingConnect(EventLoop* loop, verbs::ConnectionId* id, const verbs::ConnectionParameters& parameters,
                  ReturnCallback on_return);
  void Run();  // On the thread.

  // Constant after construction.
  EventLoop* const loop_;
  verbs::ConnectionId* const id_;
  const std::vector<std::byte> private_data_;
  verbs::ConnectionParameters parameters_;

  ReturnCallback on_return_;
  absl::Status outcome_;  // The thread's until the loop is told.
  std::thread thread_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_BLOCKING_CONNECT_H_
