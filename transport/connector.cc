// Connect: the addresses of a host, by the candidate devices in turn, and for each the steps of the connection manager.

#include <sys/random.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "transport/address.h"
#include "transport/connection_setup.h"
#include "transport/device_selection.h"
#include "transport/endpoint.h"
#include "transport/host_lookups.h"
#include "transport/log.h"
#include "transport/verbs/socket_address.h"

namespace verbena::transport {
namespace {

uint64_t RandomEpoch() {
  uint64_t epoch = 0;
  // Eight bytes never come back short, and the call fails only before the system's first seeding.
  while (epoch == 0 && getrandom(&epoch, sizeof(epoch), 0) != sizeof(epoch)) continue;
  return epoch;
}

// One attempt on one device.
class Connector : public ConnectionSetup {
 public:
  Connector(EventLoop* loop, const DeviceCandidate& candidate, const TransportOptions& options,
            const AuthenticationPolicy& policy, const sockaddr_storage& destination, ConnectCallback done)
      : ConnectionSetup(loop, candidate, options, policy), destination_(destination), done_(std::move(done)) {}

  void Start() {
    // Before Begin: what a loop keeps goes in the reverse order of its making, and this needs the channel to its end.
    const absl::StatusOr<CmChannel*> channel = CmChannel::For(loop_, *candidate_.api);
    if (!channel.ok()) return done_(channel.status());
    channel_ = *channel;
    Begin(channel_);
    if (absl::Status status = Resolve(); !status.ok()) Finish(status);
  }

 private:
  enum class Step {
    kAddress,  // Woken by ADDR_RESOLVED.
    kRoute,    // Woken by ROUTE_RESOLVED.
    kAnswer,   // Woken by ESTABLISHED or REJECTED.
  };

  void OnEvent(verbs::CmEvent& event) override {
    if (absl::Status status = Advance(event); !status.ok()) Finish(status);
  }

  absl::Status Resolve() {
    absl::StatusOr<verbs::ConnectionId> id = verbs::ConnectionId::Create(channel_->channel());
    if (!id.ok()) return id.status();
    id_ = *std::move(id);
    channel_->SetHandler(*id_, this);
    id_->SetAckTimeout(options_.ack_timeout).IgnoreError();  // Or the device keeps its own.
    return id_->ResolveAddress(nullptr, reinterpret_cast<const sockaddr*>(&destination_), options_.handshake_timeout);
  }

  absl::Status Advance(verbs::CmEvent& event) {
    // A rejection of the connection manager's own has private data too, all zeros on InfiniBand: the event says why.
    const bool by_server = event.type() == RDMA_CM_EVENT_REJECTED && wire::DecodeRejection(event.private_data()).ok();
    if (by_server && handshake_.has_value()) return handshake_->OnRejected(event.private_data());
    if (absl::Status failure = event.Failure(); !failure.ok()) return failure;
    switch (step_) {
      case Step::kAddress:
        step_ = Step::kRoute;
        return id_->ResolveRoute(options_.handshake_timeout);
      case Step::kRoute:
        step_ = Step::kAnswer;
        return Offer();
      case Step::kAnswer:
        return OnAnswer(event);
    }
    return absl::OkStatus();
  }

  absl::Status Offer() {
    channel_->RemoveHandler(*id_);
    verbs::ConnectionId id = *std::move(id_);
    id_.reset();
    if (absl::Status status = FindGroup(id); !status.ok()) return status;
    if (absl::Status status = MakeLink(channel_, std::move(id)); !status.ok()) return status;
    protocol::HandshakeOptions offered = HandshakeOffer();
    offered.receive_buffer_bytes =
        static_cast<uint32_t>(group_->receive_buffer_bytes());  // The loop's first user chose.
    handshake_.emplace(offered, static_cast<uint16_t>(share_.granted()), RandomEpoch());
    std::array<std::byte, wire::kHelloBytes> hello;
    wire::EncodeHello(handshake_->offer(), hello.data());
    return link_->Connect(Parameters(hello));
  }

  absl::Status OnAnswer(verbs::CmEvent& event) {
    if (event.type() != RDMA_CM_EVENT_ESTABLISHED) return absl::OkStatus();
    const absl::StatusOr<protocol::Agreement> agreement = handshake_->OnAccepted(event.private_data());
    if (!agreement.ok()) return agreement.status();
    Succeed(*agreement, /*initiator=*/true);
    return absl::OkStatus();
  }

  void Done(absl::StatusOr<std::unique_ptr<Connection>> outcome) override {
    if (id_.has_value()) channel_->RemoveHandler(*id_);
    done_(std::move(outcome));
  }

  absl::string_view Waiting() const override {
    switch (step_) {
      case Step::kAddress:
        return "the address to be resolved";
      case Step::kRoute:
        return "a route";
      case Step::kAnswer:
        return "an answer to the connect request";
    }
    return "";
  }

  const sockaddr_storage destination_;
  ConnectCallback done_;
  CmChannel* channel_ = nullptr;
  std::optional<verbs::ConnectionId> id_;  // Until the link takes it.
  std::optional<protocol::ClientHandshake> handshake_;
  Step step_ = Step::kAddress;
};

// Looks up the host and tries the ways to it in turn.
class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(absl::string_view address, const TransportOptions& options, EventLoop* loop, ConnectCallback done,
          AuthenticationPolicy policy)
      : address_(address), options_(options), policy_(std::move(policy)), loop_(loop), done_(std::move(done)) {}

  void Start() {
    if (absl::Status status = Prepare(); !status.ok()) return done_(status);
    if (const std::optional<HostAddresses> literal = LiteralHost(host_); literal.has_value()) return OnHost(*literal);
    HostLookups::Of(loop_).LookUp(
        host_, options_.handshake_timeout,
        [self = shared_from_this()](const absl::StatusOr<HostAddresses>& addresses) { self->OnHost(addresses); });
  }

 private:
  // One of the host's addresses, by one device.
  struct Way {
    DeviceCandidate device;
    sockaddr_storage destination;
  };

  absl::Status Prepare() {
    if (absl::Status status = CheckOptions(options_); !status.ok()) return status;
    absl::StatusOr<Address> address = ParseAddress(address_);
    if (!address.ok()) return address.status();
    absl::StatusOr<std::vector<DeviceCandidate>> devices = SelectDevices(*address, options_.device);
    if (!devices.ok()) return devices.status();
    devices_ = *std::move(devices);
    host_ = std::move(address->host);
    port_ = address->port;
    return absl::OkStatus();
  }

  void OnHost(const absl::StatusOr<HostAddresses>& addresses) {
    if (!addresses.ok()) return Fail(addresses.status().code(), addresses.status().message());
    for (const DeviceCandidate& device : devices_) {
      for (sockaddr_storage destination : *addresses) {
        verbs::SetPort(port_, &destination);
        ways_.push_back(Way{device, destination});
      }
    }
    names_destinations_ = addresses->size() > 1;
    AllowDeviceItsTime();
    TryNext();
  }

  void TryNext() {
    const Way& way = ways_[next_++];
    auto connector = std::make_shared<Connector>(
        loop_, way.device, options_, policy_, way.destination,
        [self = shared_from_this()](absl::StatusOr<std::unique_ptr<Connection>> outcome) mutable {
          self->OnOutcome(std::move(outcome));
        });
    connector->Start();
  }

  void OnOutcome(absl::StatusOr<std::unique_ptr<Connection>> outcome) {
    if (outcome.ok()) return done_(std::move(outcome));
    const Way& tried = ways_[next_ - 1];
    absl::StrAppend(&reasons_, reasons_.empty() ? "" : "; ", Name(tried), ": ", outcome.status().message());
    // That one side refuses the other is not forgotten for what follows.
    if (!absl::IsUnauthenticated(failure_)) failure_ = outcome.status();
    if (loop_->ReadNow() >= device_until_) SkipDevice(tried.device.scheme);
    if (next_ == ways_.size()) return Fail(failure_.code(), reasons_);
    if (const Scheme scheme = ways_[next_].device.scheme; scheme != tried.device.scheme) {
      Log(Severity::kInfo,
          absl::StrCat("no connection to ", address_, " by ", reasons_, "; falling back to ", ToString(scheme)));
      AllowDeviceItsTime();
    } else if (absl::IsDeadlineExceeded(outcome.status())) {  // It holds up each attempt, one that succeeds, too.
      Log(Severity::kInfo, absl::StrCat("no connection to ", address_, " by ", reasons_, "; trying its next address"));
    }
    TryNext();
  }

  // Silent addresses have not more than twice the time of one, together.
  void AllowDeviceItsTime() { device_until_ = loop_->ReadNow() + 2 * options_.handshake_timeout; }
  void SkipDevice(Scheme scheme) {
    while (next_ < ways_.size() && ways_[next_].device.scheme == scheme) ++next_;
  }

  void Fail(absl::StatusCode code, absl::string_view why) {
    done_(absl::Status(code, absl::StrCat("cannot connect to ", address_, ": ", why)));
  }

  // For people: the device, and the address where the host has several.
  std::string Name(const Way& way) const {
    const absl::string_view device = ToString(way.device.scheme);
    if (!names_destinations_) return std::string(device);
    return absl::StrCat(device, " at ", verbs::AddressText(reinterpret_cast<const sockaddr*>(&way.destination)));
  }

  const std::string address_;
  const TransportOptions options_;
  const AuthenticationPolicy policy_;
  EventLoop* const loop_;
  ConnectCallback done_;
  std::vector<DeviceCandidate> devices_;
  std::string host_;
  uint16_t port_ = 0;
  std::vector<Way> ways_;  // All addresses by the first device, then by the next.
  bool names_destinations_ = false;
  size_t next_ = 0;
  absl::Time device_until_;  // No further address by this device is tried then.
  absl::Status failure_;     // Of those tried so far the last, or the first refusal.
  std::string reasons_;      // Why they do not do.
};

}  // namespace

void Connect(absl::string_view address, const TransportOptions& options, EventLoop* loop, ConnectCallback done,
             AuthenticationPolicy policy) {
  auto attempt = std::make_shared<Attempt>(address, options, loop, std::move(done), std::move(policy));
  loop->Post([attempt] { attempt->Start(); });
}

}  // namespace verbena::transport
