// A loop's end of the connection manager: one event channel for each table of control-path calls, whose events go to
// the handler of the id that they are about. When a great many connect at once, a turn of the loop does some of what
// their events ask for and then serves those who are connected.
//
// Owner: the loop. Thread: its loop's, but channel(), which a listener on another loop migrates ids to.

#ifndef VERBENA_TRANSPORT_CM_CHANNEL_H_
#define VERBENA_TRANSPORT_CM_CHANNEL_H_

#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
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
  // After so long a turn begins no further step and event; what is left is the next turn's: the calls of those who are
  // connected wait for it. One may take half a millisecond, and on slow machines many times as long.
  static constexpr absl::Duration kTurnMax = absl::Milliseconds(2);

  // The loop's channel for `api`, made on first use.
  static absl::StatusOr<CmChannel*> For(EventLoop* loop, const verbs::VerbsApi& api);
  ~CmChannel() override;

  verbs::CmEventChannel& channel() { return channel_; }
  // Events of an id without a handler are dropped; a connect request among them is rejected.
  void SetHandler(const verbs::ConnectionId& id, CmHandler* handler) { handlers_[id.get()] = handler; }
  void RemoveHandler(const verbs::ConnectionId& id) { handlers_.erase(id.get()); }
  // What is dear about a connection and is no event: `step` runs soon, in order, by turns with the events. As many wait
  // as are asked for: who asks at the wish of peers has a bound (listener.cc).
  void HandleSoon(absl::AnyInvocable<void()> step);
  // The last turn may have left something to this one: who gives up waiting for an event may find it there.
  bool behind() const { return behind_; }

  int Poll() override;
  void Arm() override {}
  void OnReadable(int) override { JoinPolling(); }  // Sources are polled next.

 private:
  CmChannel(EventLoop* loop, verbs::CmEventChannel channel) : loop_(loop), channel_(std::move(channel)) {}
  // The loop polls a channel that has something to do and no other: a look costs those who call.
  void JoinPolling();
  void LeavePolling();
  // False: there was none.
  bool RunStep();
  bool HandleEvent();

  EventLoop* const loop_;
  verbs::CmEventChannel channel_;
  std::deque<absl::AnyInvocable<void()>> steps_;  // They may have ids of the channel.
  bool polled_ = false;
  bool behind_ = false;
  absl::flat_hash_map<const rdma_cm_id*, CmHandler*> handlers_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_CM_CHANNEL_H_
