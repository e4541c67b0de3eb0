// A loop's end of the connection manager: one event channel for each table of control-path calls, whose events go to
// the handler of the id that they are about.
//
// Owner: the loop. Thread: its loop's, but channel(), which a listener on another loop migrates ids to.

#ifndef VERBENA_TRANSPORT_CM_CHANNEL_H_
#define VERBENA_TRANSPORT_CM_CHANNEL_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "transport/event_loop.h"
#include "transport/verbs/cm_event.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/connection_id.h"

namespace verbena::transport {

class CmHandler {
 public:
  virtual ~CmHandler() = default;
  // May destroy the handler and its id.
  virtual void OnCmEvent(verbs::CmEvent& event) = 0;
};

class CmChannel : public PollSource {
 public:
  // The loop's channel for `api`, made on first use.
  static absl::StatusOr<CmChannel*> For(EventLoop* loop, const verbs::VerbsApi& api);
  ~CmChannel() override;

  verbs::CmEventChannel& channel() { return channel_; }
  // Events of an id without a handler are dropped; a connect request among them is rejected.
  void SetHandler(const verbs::ConnectionId& id, CmHandler* handler) { handlers_[id.get()] = handler; }
  void RemoveHandler(const verbs::ConnectionId& id) { handlers_.erase(id.get()); }

  int Poll() override { return 0; }
  void Arm() override {}
  void OnReadable(int fd) override;

 private:
  CmChannel(EventLoop* loop, verbs::CmEventChannel channel) : loop_(loop), channel_(std::move(channel)) {}

  EventLoop* const loop_;
  verbs::CmEventChannel channel_;
  absl::flat_hash_map<const rdma_cm_id*, CmHandler*> handlers_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_CM_CHANNEL_H_
