// What a call costs on this floor once everything has grown: no allocation, no posted task. Client and server each at
// one end of a connection that only keeps what it is given.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/client_context.h"
#include "rpc/core/call_header.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/status_codec.h"
#include "rpc/method_registry.h"
#include "rpc/server_loop.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/span_payload.h"
#include "rpc/unary_call.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena {
namespace {

using rpc::MessageKind;
using testing::SpanPayload;
using testing::Text;
using transport::SendOutcome;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr int kWarmUp = 2000;
constexpr int kMeasured = 2000;

// Keeps the latest message in memory of its own.
class KeepingConnection : public transport::Connection {
 public:
  explicit KeepingConnection(transport::EventLoop* loop) : loop_(loop) {}

  uint64_t Send(transport::OutboundMessage&& message) override {
    call_id = message.call_id;
    header_bytes = message.header.size();
    std::copy(message.header.begin(), message.header.end(), header.begin());
    body_bytes = message.payload == nullptr ? 0 : message.payload->size();
    if (message.payload != nullptr) message.payload->WriteTo(body.data());
    if (message.leaves_unreported && lets_leave) return kLeft;
    last_sent = {last_sent.send_id + 1, message.kind, message.tag};
    ++unreported;
    return last_sent.send_id;
  }
  // What became of the latest message, if that is to be said.
  void ReportLatest() {
    if (unreported == 0) return;
    --unreported;
    handler->OnSent(last_sent, SendOutcome::kDelivered);
  }
  void CancelSend(uint64_t send_id) override { cancelled.push_back(send_id); }
  void CancelFetch(uint64_t) override {}
  void Drain() override { drained = true; }
  void Abort(absl::Status) override {}
  void set_handler(transport::ConnectionHandler* handler_of_owner) override { handler = handler_of_owner; }
  size_t header_bytes_max() const override { return header.size(); }
  const std::string& peer() const override { return peer_; }
  transport::EventLoop* loop() const override { return loop_; }
  const std::shared_ptr<const transport::PeerIdentity>& peer_identity() const override { return nobody_; }

  transport::ConnectionHandler* handler = nullptr;
  std::array<std::byte, 512> header;
  std::array<std::byte, 512> body;
  size_t header_bytes = 0;
  size_t body_bytes = 0;
  uint64_t call_id = 0;
  transport::SentMessage last_sent;
  size_t unreported = 0;
  std::vector<uint64_t> cancelled;  // Sends.
  bool lets_leave = false;
  bool drained = false;

 private:
  transport::EventLoop* const loop_;
  const std::shared_ptr<const transport::PeerIdentity> nobody_ = std::make_shared<transport::PeerIdentity>();
  const std::string peer_ = "a peer whose name is too long for a small string";
};

// Answers every connect with a KeepingConnection.
class KeepingNetwork : public rpc::Network {
 public:
  absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> StartLoops(int,
                                                                        const transport::EventLoopOptions&) override {
    return absl::UnimplementedError("the user drives the loop");
  }
  absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(absl::string_view, const transport::TransportOptions&,
                                                              std::vector<transport::EventLoop*>,
                                                              transport::Listener::AcceptCallback,
                                                              const transport::AuthenticationPolicy&) override {
    return absl::UnimplementedError("nobody listens");
  }
  void Connect(absl::string_view, const transport::TransportOptions&, transport::EventLoop* loop,
               transport::ConnectCallback done, const transport::AuthenticationPolicy&) override {
    auto connection = std::make_unique<KeepingConnection>(loop);
    connection->lets_leave = lets_leave;
    latest = connection.get();
    done(std::move(connection));
  }
  KeepingConnection* latest = nullptr;
  bool lets_leave = false;
};

// A channel on such a connection, driven by the test.
class KeptChannel {
 public:
  explicit KeptChannel(bool lets_leave = false, absl::Duration idle_timeout = absl::InfiniteDuration()) {
    network_.lets_leave = lets_leave;
    ChannelOptions options;
    options.loop = &loop;
    options.default_timeout = absl::Seconds(10);
    options.idle_timeout = idle_timeout;
    channel_.emplace(*rpc::ChannelCore::Open(&network_, "host:1", options));
    request_.set_value("sixty-four bytes or so, which is what budgets are about in here");
    loop.RunUntilIdle();
  }

  void Start(ClientContext* context, CallDone done) {
    CallbackUnaryCall(*channel_, kEcho, context, &request_, &reply_, std::move(done));
  }
  // An empty reply, without an error.
  void Answer(uint64_t call_id) {
    SpanPayload nothing({});
    connection().handler->OnMessage(
        {static_cast<uint8_t>(MessageKind::kResponse), call_id, absl::MakeConstSpan(header_).first(header_bytes_), 0},
        nothing);
  }
  KeepingConnection& connection() { return *network_.latest; }  // After the first Start.

  testing::ManualLoop loop;

 private:
  KeepingNetwork network_;
  std::optional<Channel> channel_;
  Text request_, reply_;
  std::array<std::byte, rpc::kResponseHeaderRoomMin> header_;
  const size_t header_bytes_ = rpc::EncodeStatus(absl::OkStatus(), 0, absl::MakeSpan(header_));
};

// By whether messages leave at once, or are reported.
class HotPathOfSends : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(BothWays, HotPathOfSends, ::testing::Bool());

TEST_P(HotPathOfSends, CallStartedOnTheLoopAllocatesAndPostsNothingAtTheClient) {
  KeptChannel channel(GetParam());
  ClientContext context;
  int completed = 0;
  const auto call_once = [&] {
    channel.Start(&context, [&completed](absl::Status) { ++completed; });
    channel.connection().ReportLatest();
    channel.Answer(channel.connection().call_id);
  };
  size_t allocated = 0, posted = 0;
  channel.loop.Post([&] {  // On the loop's thread.
    for (int i = 0; i < kWarmUp; ++i) call_once();
    const size_t posted_before = channel.loop.posted();
    allocated = testing::AllocationsOf([&] {
      for (int i = 0; i < kMeasured; ++i) call_once();
    });
    posted = channel.loop.posted() - posted_before;
  });
  channel.loop.RunUntilIdle();
  EXPECT_EQ(completed, kWarmUp + kMeasured);
  EXPECT_EQ(allocated, 0u);
  EXPECT_EQ(posted, 0u);
}

// The report asks for nothing as a rule. Here it ends the call, and with it what the connection is used for.
TEST(HotPath, ReportOfARequestThatItsResponseOvertookEndsTheCall) {
  KeptChannel channel(/*lets_leave=*/false, /*idle_timeout=*/absl::Seconds(1));
  ClientContext context;
  int completed = 0;
  channel.Start(&context, [&completed](absl::Status) { ++completed; });
  channel.loop.RunUntilIdle();
  KeepingConnection& connection = channel.connection();
  channel.Answer(connection.call_id);
  channel.loop.Advance(absl::Seconds(2));
  EXPECT_EQ(completed, 1);
  EXPECT_FALSE(connection.drained);
  connection.handler->OnSent(connection.last_sent, SendOutcome::kDelivered);
  channel.loop.Advance(absl::Seconds(2));
  EXPECT_TRUE(connection.drained);
}

// The deadline of two calls: the end of one runs what ends the other, whose send was to be cancelled, and begins a
// third in its place.
TEST(HotPath, WhatWasToBeDoneForACallThatHasEndedMeanwhileIsNotDone) {
  KeptChannel channel;
  ClientContext contexts[3];
  std::vector<absl::StatusCode> ends[3];
  const auto note_end = [&](int which) {
    return [&ends, which](const absl::Status& status) { ends[which].push_back(status.code()); };
  };
  contexts[0].set_timeout(absl::Seconds(1));
  contexts[1].set_timeout(absl::Seconds(1));
  transport::SentMessage unreported;
  uint64_t call_id = 0;
  channel.Start(&contexts[0], [&](const absl::Status& status) {
    note_end(0)(status);
    channel.Answer(call_id);
    channel.connection().handler->OnSent(unreported, SendOutcome::kDelivered);
    channel.Start(&contexts[2], note_end(2));
  });
  channel.loop.RunUntilIdle();
  KeepingConnection& connection = channel.connection();
  connection.ReportLatest();
  channel.Start(&contexts[1], note_end(1));
  channel.loop.RunUntilIdle();
  unreported = connection.last_sent;
  call_id = connection.call_id;
  channel.loop.Advance(absl::Seconds(1));
  EXPECT_THAT(ends[0], ::testing::ElementsAre(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(ends[1], ::testing::ElementsAre(absl::StatusCode::kOk));
  EXPECT_THAT(connection.cancelled, ::testing::IsEmpty());
  EXPECT_NE(connection.call_id, call_id);
  EXPECT_EQ(static_cast<uint32_t>(connection.call_id), static_cast<uint32_t>(call_id));  // The place is the same.
  channel.Answer(connection.call_id);
  EXPECT_THAT(ends[2], ::testing::ElementsAre(absl::StatusCode::kOk));
}

TEST_P(HotPathOfSends, CallbackHandlersCallAllocatesAndPostsNothingAtTheServer) {
  testing::ManualLoop loop;
  testing::LambdaService service;
  service.AddCallback("Echo", [](ServerContext*, const Text& request, Text* reply, Responder done) {
    reply->set_value(request.value());
    done(absl::OkStatus());
  });
  const auto methods = *rpc::MethodRegistry::Create({&service});
  rpc::ServerLoop server(&loop, methods.get(), nullptr, {}, {}, 1000);
  auto owned = std::make_unique<KeepingConnection>(&loop);
  KeepingConnection& connection = *owned;
  connection.lets_leave = GetParam();
  server.Accept(std::move(owned));

  Text request;
  request.set_value("sixty-four bytes or so, which is what budgets are about in here");
  const std::string body = request.SerializeAsString();
  const auto body_bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(body.data()), body.size());
  std::array<std::byte, 256> header;
  const rpc::RequestHeader request_header{kEcho, 1000000000, body.size(), {}};
  const size_t header_bytes = *rpc::EncodeRequestHeader(request_header, absl::MakeSpan(header));
  uint64_t call_id = 0;
  const auto call_once = [&] {
    SpanPayload payload(body_bytes);
    connection.handler->OnMessage({static_cast<uint8_t>(MessageKind::kRequest), ++call_id,
                                   absl::MakeConstSpan(header).first(header_bytes), body.size()},
                                  payload);
    connection.ReportLatest();
  };
  for (int i = 0; i < kWarmUp; ++i) call_once();
  const size_t posted_before = loop.posted();
  EXPECT_EQ(testing::AllocationsOf([&] {
              for (int i = 0; i < kMeasured; ++i) call_once();
            }),
            0u);
  EXPECT_EQ(loop.posted() - posted_before, 0u);
  EXPECT_EQ(server.tally().accepted, uint64_t{kWarmUp + kMeasured});
  EXPECT_EQ(connection.body_bytes, body.size());
  server.Abort();
  server.Shut();
}

}  // namespace
}  // namespace verbena
