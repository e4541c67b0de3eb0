#include "tests/hostile/attacked_server.h"

#include <utility>

#include "absl/time/clock.h"
#include "rpc/client_context.h"
#include "tests/hostile/frames.h"
#include "tests/integration/held.h"
#include "tests/integration/wait_until.h"
#include "transport/device_context.h"
#include "transport/soft/soft_api.h"

namespace verbena::hostile {
namespace {

constexpr absl::Duration kPatience = HostilePeer::kPatience;
constexpr absl::Duration kBetweenCalls = absl::Milliseconds(1);
constexpr size_t kLargeBytes = 50000;  // Goes by rendezvous, both ways.

}  // namespace

HonestClient::HonestClient(const std::string& address, std::shared_ptr<Authenticator> credentials) {
  ChannelOptions options;
  options.credentials = std::move(credentials);
  options.transport.rnr_retry_count = 0;
  options.wait = WaitPolicy::kEvent;
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address, options);
  EXPECT_TRUE(channel.ok()) << channel.status();
  channel_ = *std::move(channel);
  thread_ = std::thread([this] { Run(); });
}

void HonestClient::Run() {
  probe::Probe::Stub stub(channel_);
  for (int i = 0; !stopping_; ++i) {
    ClientContext context;
    context.set_timeout(kPatience);
    probe::EchoRequest request;
    probe::EchoReply reply;
    request.set_body(std::string(i % 4 == 0 ? kLargeBytes : 32, static_cast<char>('a' + i % 26)));
    const absl::Status status = stub.Echo(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << "an honest client's call failed: " << status;
    if (!status.ok()) return;
    EXPECT_TRUE(reply.body() == request.body()) << "an honest client got another reply than its own";
    ++succeeded_;
    absl::SleepFor(kBetweenCalls);
  }
}

void HonestClient::ExpectServed() {
  const uint64_t before = succeeded_;
  EXPECT_TRUE(WaitUntil([&] { return succeeded_ >= before + 2; }, kPatience))
      << "an honest client is not served any more";
}

void HonestClient::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

ServerOptions AttackedServer::Options() {
  ServerOptions options;
  options.transport.device = "soft";
  options.transport.rnr_retry_count = 0;
  options.transport.message_bytes_max = 128 << 20;
  options.wait = WaitPolicy::kEvent;
  options.executor_threads = 4;
  return options;
}

AttackedServer::AttackedServer(const ServerOptions& options, std::shared_ptr<Authenticator> authenticator)
    : protocol_errors_seen_(ReadTransportCounters().protocol_errors) {
  Server::Builder builder;
  builder.AddListeningAddress("soft://127.0.0.1:0").RegisterService(&service_).SetOptions(options);
  builder.SetAuthenticator(authenticator);
  absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
  EXPECT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  honest_ = std::make_unique<HonestClient>(address(), std::move(authenticator));
  honest_->ExpectServed();
}

AttackedServer::~AttackedServer() {
  honest_->ExpectServed();
  honest_.reset();
  ExpectNothingHeld();
}

void AttackedServer::ExpectNothingHeld() {
  const auto idle = [this] {
    const ServerCounters server = server_->counters();
    const TransportCounters transport = ReadTransportCounters();
    return server.connections == 0 && server.calls_in_flight == 0 && DescribeHeld().empty() &&
           transport.receives_posted == transport.receive_buffers;
  };
  if (WaitUntil(idle, kPatience)) return;
  const ServerCounters server = server_->counters();
  const TransportCounters transport = ReadTransportCounters();
  ADD_FAILURE() << "left behind: " << server.connections << " server connections, " << server.calls_in_flight
                << " calls; " << DescribeHeld() << "; posted are " << transport.receives_posted << " of "
                << transport.receive_buffers << " receives";
}

std::unique_ptr<HostilePeer> AttackedServer::Connect(uint32_t receives, uint32_t features) {
  absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Connect(address(), receives, features);
  EXPECT_TRUE(peer.ok()) << peer.status();
  return peer.ok() ? *std::move(peer) : nullptr;
}

bool AttackedServer::HasWindows(const HostilePeer& peer) {
  const auto device = transport::DeviceContext::For(peer.id());
  return device.ok() && (*device)->has_windows();
}

void AttackedServer::ExpectEnded(HostilePeer& peer) {
  EXPECT_TRUE(peer.WaitForEnd()) << "the server kept the connection";
  honest_->ExpectServed();
}

void AttackedServer::ExpectGoodbye(HostilePeer& peer, wire::GoodbyeReason reason) {
  ExpectEnded(peer);
  EXPECT_EQ(peer.goodbye(), reason);
}

void AttackedServer::ExpectProtocolError(HostilePeer& peer) {
  ExpectGoodbye(peer, wire::GoodbyeReason::kProtocolError);
  ++protocol_errors_seen_;
  EXPECT_TRUE(
      WaitUntil([this] { return ReadTransportCounters().protocol_errors >= protocol_errors_seen_; }, kPatience));
}

void AttackedServer::ExpectAlive(HostilePeer& peer) {
  peer.Send(Control(wire::FrameType::kPing));
  EXPECT_TRUE(peer.Receive(wire::FrameType::kPong).has_value()) << "the server ended the connection";
}

void AttackedServer::ExpectRefused(const Bytes& frame) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(frame);
  ExpectProtocolError(*peer);
}

}  // namespace verbena::hostile
