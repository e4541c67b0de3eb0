// Listening: one connection-manager id for each device, on the first loop; each request moves to the loop that will own
// its connection.

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "transport/acceptor.h"
#include "transport/address.h"
#include "transport/cm_channel.h"
#include "transport/connection_setup.h"
#include "transport/device_selection.h"
#include "transport/endpoint.h"
#include "transport/log.h"
#include "transport/verbs/socket_address.h"

namespace verbena::transport {
namespace {

constexpr int kBacklog = 1024;
constexpr int kPortsTried = 16;  // Where any will do.
// Between two attempts to listen on a device that was removed.
constexpr absl::Duration kListenAgainInterval = absl::Seconds(1);

// Runs `task` on the loop's thread and waits for it.
void RunOnLoop(EventLoop* loop, absl::FunctionRef<void()> task) {
  if (loop->InLoopThread()) return task();
  std::promise<void> done;
  loop->Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

// EADDRNOTAVAIL of a bind, which absl::ErrnoToStatusCode takes for AlreadyExists, or EAFNOSUPPORT where the kernel has
// no IPv6.
absl::Status NotOfThisMachine(const absl::Status& status) {
  return absl::NotFoundError(absl::StrCat(status.message(),
                                          ": this machine has no such address; listen on one that it has (`ip address`"
                                          " lists them), or on 0.0.0.0 or [::] for all"));
}

// One device that the listener listens on, again when it was removed and is back. Lives on the first loop.
class DeviceListener : public CmHandler {
 public:
  DeviceListener(const DeviceCandidate& candidate, std::vector<EventLoop*> loops,
                 std::shared_ptr<Acceptance> acceptance)
      : candidate_(candidate), loops_(std::move(loops)), acceptance_(std::move(acceptance)) {
    for (size_t i = 0; i < loops_.size(); ++i) waiting_.push_back(std::make_shared<std::atomic<uint32_t>>(0));
  }
  ~DeviceListener() override {
    loops_[0]->CancelTimer(again_timer_);
    DropId();
  }

  // Each loop's channel, made on that loop.
  absl::Status OpenChannels() {
    absl::Status status;
    for (EventLoop* loop : loops_) {
      RunOnLoop(loop, [&] {
        absl::StatusOr<CmChannel*> channel = CmChannel::For(loop, *candidate_.api);
        if (channel.ok()) {
          channels_.push_back(*channel);
        } else {
          status.Update(channel.status());
        }
      });
    }
    return status;
  }

  // On the first loop, like Listen.
  absl::Status Bind(const sockaddr_storage& address) {
    absl::StatusOr<verbs::ConnectionId> id = verbs::ConnectionId::Create(channels_[0]->channel());
    if (!id.ok()) return id.status();
    if (absl::Status status = id->SetReuseAddress(); !status.ok() && !absl::IsUnimplemented(status)) return status;
    if (absl::Status status = id->Bind(reinterpret_cast<const sockaddr*>(&address)); !status.ok()) {
      const bool is_elsewhere = absl::IsAlreadyExists(status) || absl::IsUnimplemented(status);
      return is_elsewhere ? NotOfThisMachine(status) : status;
    }
    id_ = *std::move(id);
    bound_ = address;
    verbs::SetPort(port(), &bound_);
    return absl::OkStatus();
  }

  // Makes what each loop needs on the device, so that the start fails where the first connection would: for want of
  // locked memory, for instance. The wildcard address belongs to no device until somebody connects.
  absl::Status ProvideGroups() {
    if (id_->device_context() == nullptr) return absl::OkStatus();
    absl::Status status;
    for (EventLoop* loop : loops_) {
      RunOnLoop(loop, [&] { status.Update(GroupFor(loop, *id_, candidate_, acceptance_->options).status()); });
    }
    return status;
  }

  absl::Status Listen() {
    if (absl::Status status = id_->Listen(kBacklog); !status.ok()) return status;
    channels_[0]->SetHandler(*id_, this);
    return absl::OkStatus();
  }

  // With the real port.
  std::string address() const { return absl::StrCat(ToString(candidate_.scheme), "://", id_->LocalAddress()); }
  uint16_t port() const { return id_->LocalPort(); }

  void OnCmEvent(verbs::CmEvent& event) override {
    if (event.type() == RDMA_CM_EVENT_DEVICE_REMOVAL) return OnDeviceRemoved();
    if (event.type() != RDMA_CM_EVENT_CONNECT_REQUEST) return;
    verbs::ConnectionId id = event.TakeRequest();
    const std::optional<size_t> loop = ChooseLoop();
    if (!loop.has_value()) return RefuseToWait(id);
    HandOver(*loop,
             std::make_shared<ConnectRequest>(ConnectRequest{std::move(id),
                                                             {event.private_data().begin(), event.private_data().end()},
                                                             event.responder_resources(),
                                                             event.initiator_depth(),
                                                             std::make_unique<CountedPlace>(waiting_[*loop])}));
  }

 private:
  // The next in turn, of those for whom fewer requests wait than they take connections. None: for all as many wait.
  std::optional<size_t> ChooseLoop() {
    for (size_t tried = 0; tried < loops_.size(); ++tried) {
      const size_t loop = next_++ % loops_.size();
      if (*waiting_[loop] < acceptance_->options.connections_max) return loop;
    }
    return std::nullopt;
  }

  void RefuseToWait(verbs::ConnectionId& id) {
    const bool closing = acceptance_->closing;
    Reject(id, RejectionFor(closing ? wire::RejectReason::kShuttingDown : wire::RejectReason::kTooManyConnections));
    acceptance_->audit_log.Refused(
        absl::StrCat("a connection from ", id.PeerAddress()),
        closing ? absl::UnavailableError("shutting down")
                : absl::ResourceExhaustedError("connections_max of connect requests wait for each loop"),
        loops_[0]->Now());
  }

  void HandOver(size_t chosen, std::shared_ptr<ConnectRequest> request) {
    if (chosen != 0) {
      if (absl::Status status = request->id.MigrateTo(channels_[chosen]->channel()); !status.ok()) {
        return Log(Severity::kError, status.message());
      }
    }
    loops_[chosen]->Post([loop = loops_[chosen], channel = channels_[chosen], candidate = candidate_,
                          acceptance = acceptance_, request] {
      channel->HandleSoon([loop, channel, candidate, acceptance, request] {
        std::make_shared<Acceptor>(loop, candidate, acceptance)->Start(channel, std::move(*request));
      });
    });
  }

  void DropId() {
    if (!id_.has_value()) return;
    channels_[0]->RemoveHandler(*id_);
    id_.reset();
  }

  void OnDeviceRemoved() {
    text_ = address();
    why_not_.clear();
    Log(Severity::kWarning, absl::StrCat("not listening on ", text_, " any more: its device was removed"));
    DropId();  // It never hears of the device again, and the removal waits for it.
    ListenAgainSoon();
  }

  void ListenAgainSoon() {
    again_timer_ = loops_[0]->AddTimer(loops_[0]->Now() + kListenAgainInterval, [this] {
      again_timer_ = 0;
      const absl::Status status = ListenAgain();
      if (status.ok()) return Log(Severity::kInfo, absl::StrCat("listening on ", text_, " again"));
      if (std::exchange(why_not_, std::string(status.message())) != status.message()) {
        Log(Severity::kInfo, absl::StrCat("not listening on ", text_, " yet: ", status.message()));
      }
      DropId();
      ListenAgainSoon();
    });
  }

  absl::Status ListenAgain() {
    if (absl::Status status = Bind(bound_); !status.ok()) return status;
    // The other loops have theirs with their first connection.
    const auto group = GroupFor(loops_[0], *id_, candidate_, acceptance_->options);
    return group.ok() ? Listen() : group.status();
  }

  const DeviceCandidate candidate_;
  const std::vector<EventLoop*> loops_;
  const std::shared_ptr<Acceptance> acceptance_;
  std::vector<CmChannel*> channels_;                             // By loop.
  std::vector<std::shared_ptr<std::atomic<uint32_t>>> waiting_;  // By loop: the requests that it has not come to.
  std::optional<verbs::ConnectionId> id_;                        // None while its device is away.
  sockaddr_storage bound_ = {};                                  // With the real port.
  std::string text_;     // The same, for people. Set, like the next two, once the device was removed.
  std::string why_not_;  // The last reason for not listening again.
  TimerId again_timer_ = 0;
  size_t next_ = 0;
};

class ListenerOnDevices : public Listener {
 public:
  ListenerOnDevices(std::vector<EventLoop*> loops, std::shared_ptr<Acceptance> acceptance)
      : loops_(std::move(loops)), acceptance_(std::move(acceptance)) {}

  ~ListenerOnDevices() override {
    Close();
    acceptance_->ended = true;
    RunOnLoop(loops_[0], [&] { listeners_.clear(); });
    // Whoever saw `ended` unset has returned when each loop has come round once.
    for (EventLoop* loop : loops_) RunOnLoop(loop, [] {});
  }

  // Listens on those of a host's addresses that are on such a device. NotFound: none is.
  absl::Status Add(const DeviceCandidate& candidate, HostAddresses* addresses) {
    absl::Status not_there;
    const size_t before = listeners_.size();
    for (size_t i = 0; i < addresses->size(); ++i) {
      const absl::Status status = AddOne(candidate, (*addresses)[i]);
      if (status.ok()) {  // The next device, and what follows here, listens on the same port.
        for (sockaddr_storage& address : *addresses) verbs::SetPort(listeners_.back()->port(), &address);
      } else if (absl::IsNotFound(status)) {
        not_there.Update(status);
      } else {
        return status;
      }
    }
    if (listeners_.size() == before) return not_there;
    if (!not_there.ok()) Log(Severity::kWarning, absl::StrCat("not listening on all addresses: ", not_there.message()));
    return absl::OkStatus();
  }

  void Close() override { acceptance_->closing = true; }
  const std::vector<std::string>& addresses() const override { return addresses_; }

 private:
  absl::Status AddOne(const DeviceCandidate& candidate, const sockaddr_storage& address) {
    auto listener = std::make_unique<DeviceListener>(candidate, loops_, acceptance_);
    if (absl::Status status = Start(*listener, address); !status.ok()) {
      RunOnLoop(loops_[0], [&] { listener.reset(); });
      return status;
    }
    addresses_.push_back(listener->address());
    listeners_.push_back(std::move(listener));
    return absl::OkStatus();
  }
  absl::Status Start(DeviceListener& listener, const sockaddr_storage& address) {
    if (absl::Status status = listener.OpenChannels(); !status.ok()) return status;
    absl::Status status;
    RunOnLoop(loops_[0], [&] { status = listener.Bind(address); });
    if (!status.ok()) return status;
    if (status = listener.ProvideGroups(); !status.ok()) return status;
    RunOnLoop(loops_[0], [&] { status = listener.Listen(); });
    return status;
  }

  const std::vector<EventLoop*> loops_;
  const std::shared_ptr<Acceptance> acceptance_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<DeviceListener>> listeners_;
};

// On those of `host` that this machine has, with each candidate.
absl::Status ListenOnEach(ListenerOnDevices& listener, absl::string_view address, HostAddresses host,
                          const std::vector<DeviceCandidate>& candidates) {
  for (const DeviceCandidate& candidate : candidates) {
    const absl::Status status = listener.Add(candidate, &host);
    if (status.ok()) continue;
    // Who asked says on what address it cannot listen; this says with which device.
    const std::string words = absl::StrCat(ToString(candidate.scheme), ": ", status.message());
    const bool others_follow = &candidate != &candidates.back();
    // The address is no device's, or there is no connection manager (ENODEV, ENOENT): the other candidates serve it.
    // Anything else is for the user to put right, an address that somebody else listens on above all.
    if (!others_follow || !absl::IsNotFound(status)) return absl::Status(status.code(), words);
    Log(Severity::kWarning, absl::StrCat("not listening on ", address, " with ", words));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Listen(absl::string_view address, const TransportOptions& options,
                                                           std::vector<EventLoop*> loops, AcceptCallback on_accept,
                                                           AuthenticationPolicy policy) {
  if (loops.empty()) return absl::InvalidArgumentError("a listener needs at least one event loop");
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  const absl::StatusOr<std::vector<DeviceCandidate>> candidates = SelectDevices(*parsed, options.device);
  if (!candidates.ok()) return candidates.status();
  const absl::StatusOr<HostAddresses> host = ResolveHost(*parsed);
  if (!host.ok()) return host.status();

  for (int tries = 1;; ++tries) {
    auto acceptance = std::make_shared<Acceptance>();
    acceptance->options = options;
    acceptance->on_accept = on_accept;
    acceptance->policy = policy;
    auto listener = std::make_unique<ListenerOnDevices>(loops, std::move(acceptance));
    absl::Status status = ListenOnEach(*listener, address, *host, *candidates);
    if (status.ok()) return listener;
    // Any port will do, and the one that the first address took is another's at the next.
    const bool is_chance = parsed->port == 0 && absl::IsFailedPrecondition(status) && !listener->addresses().empty();
    if (!is_chance || tries == kPortsTried) return status;
  }
}

}  // namespace verbena::transport
