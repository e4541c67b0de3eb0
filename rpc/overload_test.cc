// A server that is asked for more than it has threads: who waits, who is refused and what with; and what clients hear
// of its load. In virtual time; the handlers block until the test lets them go.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/completion_waiter.h"
#include "rpc/core/call_header.h"
#include "rpc/core/load_field.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/overload/load_report.h"
#include "rpc/executor/cooperative_thread.h"
#include "rpc/server.h"
#include "rpc/server_core.h"
#include "rpc/testing/call_fixture.h"
#include "rpc/testing/raw_peer.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using testing::RawPeer;
using testing::TestCall;
using testing::Text;

constexpr absl::string_view kAddress = "server:1";
constexpr absl::string_view kBlock = "test.Lambda/Block";

// The test's thread: where it waits for the server, the loop runs.
class Caller final : public rpc::CooperativeThread {
 public:
  explicit Caller(testing::ManualLoop* loop) : loop_(*loop) {}
  void YieldUntil(absl::FunctionRef<bool()> ready) override { loop_.DriveUntil(ready); }

 private:
  testing::ManualLoop& loop_;
};

class OverloadTest : public ::testing::Test {
 protected:
  OverloadTest() {
    channel_options_.loop = &loop_;
    server_options_.executor_threads = 1;
    server_options_.executor_queue_max = 4;
    server_options_.executor_queue_time_max = absl::Milliseconds(100);
    server_options_.executor_queue_time_target = absl::Milliseconds(5);
    service_.AddBlocking("Block", [this](ServerContext*, const Text& request, Text*) {
      begun_.push_back(request.value());
      return blocked_.emplace_back().Wait();
    });
  }
  ~OverloadTest() override {
    for (; released_ < blocked_.size(); ++released_) blocked_[released_].Complete(absl::OkStatus());
    channels_.clear();
    server_.reset();
  }

  void StartServer() {
    server_ = std::make_unique<Server>(
        *rpc::ServerCore::Start(&network_, server_options_, {std::string(kAddress)}, {&service_}));
  }
  // Calls over a connection of this name's own.
  std::shared_ptr<TestCall> Call(const std::string& connection, std::string text, absl::Cord attachment = {}) {
    std::unique_ptr<Channel>& channel = channels_[connection];
    if (channel == nullptr) {
      channel = std::make_unique<Channel>(*rpc::ChannelCore::Open(&network_, kAddress, channel_options_));
    }
    auto call = std::make_shared<TestCall>();
    call->request.set_value(std::move(text));
    if (!attachment.empty()) call->context.set_attachment(std::move(attachment));
    CallbackUnaryCall(*channel, kBlock, &call->context, &call->request, &call->reply,
                      [call](absl::Status status) { call->completions.push_back(std::move(status)); });
    loop_.RunUntilIdle();
    return call;
  }
  std::vector<std::shared_ptr<TestCall>> Calls(const std::string& connection, const std::vector<std::string>& texts) {
    std::vector<std::shared_ptr<TestCall>> calls;
    for (const std::string& text : texts) calls.push_back(Call(connection, text));
    return calls;
  }
  // Connections from here on are of this identity.
  void ConnectAs(const std::string& name) {
    testing::MemoryConnection::Options options;
    options.peer_identity = std::make_shared<PeerIdentity>(PeerIdentity{"test", name, {}});
    network_.set_connection_options(options);
  }
  void ReleaseOne() {
    blocked_[released_++].Complete(absl::OkStatus());
    loop_.RunUntilIdle();
  }
  static void ExpectRefused(const TestCall& call, const std::string& words) {
    ASSERT_TRUE(call.done());
    EXPECT_EQ(call.status().code(), absl::StatusCode::kResourceExhausted) << call.status();
    EXPECT_EQ(GetCertainty(call.status()), Certainty::kNotSent);
    EXPECT_THAT(std::string(call.status().message()), ::testing::HasSubstr(words));
  }

  testing::ManualLoop loop_;
  Caller caller_{&loop_};
  const rpc::CooperativeThread::Scope scope_{&caller_};
  testing::MemoryNetwork network_{&loop_};
  testing::LambdaService service_;
  ServerOptions server_options_;
  ChannelOptions channel_options_;
  std::vector<std::string> begun_;
  std::deque<rpc::CompletionWaiter> blocked_;
  size_t released_ = 0;
  std::unique_ptr<Server> server_;
  std::map<std::string, std::unique_ptr<Channel>> channels_;
};

TEST_F(OverloadTest, CallThatWaitsTooLongForAThreadIsRefusedThoughEveryThreadIsStuck) {
  StartServer();
  const auto running = Call("ada", "a1");
  const auto waiting = Call("ada", "a2");
  loop_.Advance(absl::Milliseconds(99));
  EXPECT_FALSE(waiting->done());
  loop_.Advance(absl::Milliseconds(1));
  ExpectRefused(*waiting, "waited 100ms for a handler thread (executor_queue_time_max is 100ms)");
  EXPECT_FALSE(running->done());
  EXPECT_EQ(server_->counters().calls_refused, 1u);
}

TEST_F(OverloadTest, CallWhoseAttachmentStillComesIsRefusedFromTheQueueLikeAnother) {
  service_.ReadInParts("Block");
  StartServer();
  const auto running = Call("ada", "a1");
  network_.latest_server()->HoldLastParts();
  const auto waiting = Call("ada", "a2", absl::Cord(std::string(100'000, 'a')));
  loop_.Advance(absl::Milliseconds(100));
  ExpectRefused(*waiting, "waited 100ms for a handler thread");
  network_.latest_server()->ReleaseLastParts();
  loop_.RunUntilIdle();
  EXPECT_EQ(waiting->completions.size(), 1u);
  EXPECT_EQ(server_->counters().calls_refused, 1u);
  ReleaseOne();
  EXPECT_EQ(running->status(), absl::OkStatus());

  const auto next = Call("ada", "a3", absl::Cord(std::string(100'000, 'a')));
  ReleaseOne();
  EXPECT_EQ(next->status(), absl::OkStatus());
  EXPECT_THAT(begun_, ElementsAre("a1", "a3"));
}

TEST_F(OverloadTest, InAQueueThatStandsCallsAreRefusedEarly) {
  StartServer();
  Call("ada", "a1");
  Call("ada", "a2");
  loop_.Advance(absl::Milliseconds(98));
  const auto late = Call("ada", "a3");
  loop_.Advance(absl::Milliseconds(5));
  ExpectRefused(*late, "waited 5ms for a handler thread (executor_queue_time_target is 5ms");
}

TEST_F(OverloadTest, CallThatGotItsThreadInTimeMayTakeItsTime) {
  StartServer();
  const auto first = Call("ada", "a1");
  const auto second = Call("ada", "a2");
  loop_.Advance(absl::Milliseconds(50));
  ReleaseOne();
  loop_.Advance(absl::Hours(1));
  EXPECT_FALSE(second->done());
  ReleaseOne();
  EXPECT_EQ(first->status(), absl::OkStatus());
  EXPECT_EQ(second->status(), absl::OkStatus());
}

TEST_F(OverloadTest, WithoutALimitOfTimeCallsWaitAsLongAsTheirCallers) {
  server_options_.executor_queue_time_max = absl::InfiniteDuration();
  StartServer();
  Call("ada", "a1");
  const auto waiting = Call("ada", "a2");
  loop_.Advance(absl::Hours(1));
  EXPECT_FALSE(waiting->done());
}

TEST_F(OverloadTest, FloodingConnectionWaitsForItsTurnAndLosesItsPlaces) {
  StartServer();
  const auto flood = Calls("ada", {"a1", "a2", "a3", "a4", "a5", "a6"});
  ExpectRefused(*flood[5], "the server's executor is full: 4 calls wait (executor_queue_max)");
  const auto bob = Call("bob", "b1");
  ExpectRefused(*flood[4], "gave its place");
  ReleaseOne();
  ReleaseOne();
  EXPECT_THAT(begun_, ElementsAre("a1", "a2", "b1"));
  ReleaseOne();
  EXPECT_EQ(bob->status(), absl::OkStatus());
}

TEST_F(OverloadTest, ConnectionsOfOneIdentityAreOneClient) {
  StartServer();
  ConnectAs("ada");
  Call("ada's first", "a1");
  Calls("ada's second", {"a2", "a3"});
  Call("ada's third", "a4");
  ConnectAs("bob");
  Call("bob's", "b1");
  for (int i = 0; i < 4; ++i) ReleaseOne();
  EXPECT_THAT(begun_, ElementsAre("a1", "a2", "b1", "a3", "a4"));
}

TEST_F(OverloadTest, LargeRequestThatWouldFindNoPlaceIsRefusedUnfetched) {
  StartServer();
  Calls("ada", {"a1", "a2", "a3", "a4", "a5"});
  const auto large = Call("ada", std::string(100000, 'x'));
  ExpectRefused(*large, "the server's executor is full");
  EXPECT_EQ(server_->counters().calls_accepted, 5u);
  const auto bob = Call("bob", std::string(100000, 'x'));
  EXPECT_FALSE(bob->done());
  EXPECT_EQ(server_->counters().calls_accepted, 6u);
}

TEST_F(OverloadTest, CallWhoseDeadlinePassesWhileItWaitsNeverRuns) {
  server_options_.executor_queue_time_max = absl::InfiniteDuration();
  channel_options_.default_timeout = absl::Milliseconds(20);
  StartServer();
  Calls("ada", {"a1", "a2"});
  loop_.Advance(absl::Milliseconds(20));
  ReleaseOne();
  EXPECT_THAT(begun_, ElementsAre("a1"));
  EXPECT_EQ(server_->counters().calls_in_flight, 0u);
}

TEST_F(OverloadTest, LoadIsThatOfTheThreadsOrWhatTheServerSaysIfThatIsMore) {
  server_options_.executor_threads = 2;
  StartServer();
  EXPECT_EQ(server_->counters().load, 0);
  Call("ada", "a1");
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(server_->counters().load, 0.5);
  server_->SetLoad(0.75);
  EXPECT_EQ(server_->counters().load, 0.75);
  Call("ada", "a2");
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(server_->counters().load, 1);
  server_->SetLoad(-1);
  ReleaseOne();
  ReleaseOne();
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(server_->counters().load, 0);
}

TEST_F(OverloadTest, LoadIsThatOfTheCallsInFlightIfThatIsMore) {
  server_options_.executor_threads = 8;
  server_options_.calls_in_flight_max = 4;
  StartServer();
  Calls("ada", {"a1", "a2", "a3"});
  loop_.Advance(absl::Seconds(1));
  EXPECT_EQ(server_->counters().load, 0.75);
}

TEST_F(OverloadTest, ServerRefusesLimitsThatMakeNoSense) {
  for (absl::Duration* limit :
       {&server_options_.executor_queue_time_max, &server_options_.executor_queue_time_target}) {
    const absl::Duration before = std::exchange(*limit, absl::ZeroDuration());
    EXPECT_TRUE(absl::IsInvalidArgument(
        rpc::ServerCore::Start(&network_, server_options_, {std::string(kAddress)}, {&service_}).status()));
    *limit = before;
  }
}

// What the responses say of the load when some of them do not leave, or have no room.
class LoadReportTest : public testing::CallFixture {
 protected:
  LoadReportTest() {
    StartServer();
    server_->SetLoad(0.9);
    network_.Connect(kAddress, {}, &loop_,
                     [this](absl::StatusOr<std::unique_ptr<transport::Connection>> connection) {
                       peer_ = std::make_unique<RawPeer>(*std::move(connection));
                     },
                     {});
    loop_.RunUntilIdle();
  }
  ~LoadReportTest() override { StopServer(); }

  void Ask(uint64_t call_id, absl::string_view method) {
    std::array<std::byte, 256> bytes;
    rpc::RequestHeader header;
    header.method = method;
    const size_t length = *rpc::EncodeRequestHeader(header, absl::MakeSpan(bytes));
    peer_->Send(rpc::MessageKind::kRequest, call_id, {reinterpret_cast<const char*>(bytes.data()), length});
    loop_.RunUntilIdle();
  }
  void Answer(absl::Status status) {
    std::exchange(held_, {}).at(0).done(std::move(status));
    loop_.RunUntilIdle();
  }
  // By the latest response; nullopt: it has no word of it.
  std::optional<double> LoadSaid() {
    const std::string& bytes = peer_->received.back().header;
    const auto header = rpc::DecodeResponseHeader(
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()), 0);
    return header.ok() ? rpc::ReadLoad(header->fields) : std::nullopt;
  }
  // The load that a response says as soon as one may look at it again.
  std::optional<double> LoadSaidNext() {
    loop_.Advance(rpc::LoadReport::kInterval);
    Ask(100, "test.Lambda/Echo");
    return LoadSaid();
  }

  std::unique_ptr<RawPeer> peer_;
};

TEST_F(LoadReportTest, ResponseThatIsDeliveredSaysItOnce) {
  Ask(1, "test.Lambda/Echo");
  EXPECT_EQ(LoadSaid(), 0.9);
  EXPECT_EQ(LoadSaidNext(), std::nullopt);
}

TEST_F(LoadReportTest, LoadThatWasInACancelledResponseIsSaidByTheNext) {
  Ask(1, "test.Lambda/Hold");
  network_.latest_server()->Stall();
  Answer(absl::OkStatus());
  peer_->Send(rpc::MessageKind::kCancel, 1, "");
  loop_.RunUntilIdle();
  network_.latest_server()->Unstall();
  EXPECT_EQ(LoadSaidNext(), 0.9);
}

TEST_F(LoadReportTest, LoadThatFoundNoRoomInAHeaderIsSaidByTheNext) {
  Ask(1, "test.Lambda/Hold");
  absl::Status full = absl::InternalError(std::string(10000, 'x'));
  full.SetPayload("left out, and the word of that takes the rest", absl::Cord("x"));
  Answer(std::move(full));
  ASSERT_EQ(LoadSaid(), std::nullopt);
  EXPECT_EQ(LoadSaidNext(), 0.9);
}

}  // namespace
}  // namespace verbena
