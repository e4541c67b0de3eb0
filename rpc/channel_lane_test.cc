// Calls of one lane to several servers, over a network in memory and in virtual time.

#include "rpc/channel_lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/certainty.h"
#include "rpc/core/overload/load_report.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/loop_server.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/memory_network.h"

namespace verbena {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::Text;

constexpr absl::string_view kWho = "test.Lambda/Who";
constexpr absl::string_view kHold = "test.Lambda/Hold";

// Says its name, or holds its responders.
class NamedServer {
 public:
  NamedServer(const std::string& name, testing::MemoryNetwork* network, testing::ManualLoop* loop) {
    service_.AddCallback("Who", [name](ServerContext*, const Text&, Text* reply, Responder done) {
      reply->set_value(name);
      done(absl::OkStatus());
    });
    service_.AddCallback(
        "Hold", [this](ServerContext*, const Text&, Text*, Responder done) { held.push_back(std::move(done)); });
    service_.AddCallback("Refuse", [this](ServerContext*, const Text&, Text*, Responder done) {
      ++refused;
      done(absl::UnavailableError("try another day"));
    });
    server_.emplace(name, std::vector<Service*>{&service_}, network, loop);
  }
  void Drain() { server_->Drain(); }
  void SetLoad(double load) { server_->loop().SetLoad(load); }

  size_t connections() const { return server_->connections(); }
  std::vector<Responder> held;
  int refused = 0;

 private:
  testing::LambdaService service_;
  std::optional<testing::LoopServer> server_;
};

struct LaneCall {
  ClientContext context;
  Text request;
  Text reply;
  std::vector<absl::Status> ends;
};

class ChannelLaneTest : public ::testing::Test {
 protected:
  ~ChannelLaneTest() override {
    if (lane_ != nullptr) lane_->Shutdown("the test is over");
    loop_.RunUntilIdle();
  }
  void StartServers(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      servers_[name] = std::make_unique<NamedServer>(name, &network_, &loop_);
    }
  }
  void OpenLane(rpc::PolicyKind policy) {
    rpc::BalancerOptions options;
    options.policy = policy;
    options.seed = 7;
    lane_ = rpc::ChannelLane::WithBalancer(&network_, *rpc::Balancer::Create(options), [this] { ++refreshes_; },
                                           options_, &loop_, board_, {1, 42});
    lane_->Open();
  }
  void Name(const std::vector<std::string>& names) {
    std::vector<rpc::ServerAddress> list;
    for (const std::string& name : names) list.push_back({name});
    loop_.Post([this, list] { lane_->OnList(list); });
    loop_.RunUntilIdle();
  }
  LaneCall* Start(absl::string_view method, std::unique_ptr<LaneCall> owned = std::make_unique<LaneCall>()) {
    LaneCall* const call = HandOver(method, std::move(owned));
    loop_.RunUntilIdle();
    return call;
  }
  LaneCall* HandOver(absl::string_view method, std::unique_ptr<LaneCall> owned = std::make_unique<LaneCall>()) {
    LaneCall* const call = owned.get();
    calls_.push_back(std::move(owned));
    rpc::UserCall made;
    made.method = method;
    made.context = &call->context;
    made.request = &call->request;
    made.reply = &call->reply;
    made.done = [call](absl::Status status) { call->ends.push_back(std::move(status)); };
    lane_->StartLater(std::move(made));
    return call;
  }
  std::string Who() {
    LaneCall* const call = Start(kWho);
    EXPECT_THAT(call->ends, SizeIs(1));
    return call->ends.empty() || !call->ends[0].ok() ? "nobody" : call->reply.value();
  }
  std::map<std::string, int> Tally(int calls) {
    std::map<std::string, int> tally;
    for (int i = 0; i < calls; ++i) ++tally[Who()];
    return tally;
  }

  testing::ManualLoop loop_;
  testing::MemoryNetwork network_{&loop_};
  ChannelOptions options_;
  const std::shared_ptr<rpc::ConnectivityBoard> board_ = std::make_shared<rpc::ConnectivityBoard>();
  std::map<std::string, std::unique_ptr<NamedServer>> servers_;
  std::shared_ptr<rpc::ChannelLane> lane_;
  std::vector<std::unique_ptr<LaneCall>> calls_;
  int refreshes_ = 0;
};

TEST_F(ChannelLaneTest, RoundRobinGivesEachServerItsTurn) {
  StartServers({"a:1", "b:1", "c:1"});
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1", "b:1", "c:1"});
  EXPECT_EQ(Tally(30), (std::map<std::string, int>{{"a:1", 10}, {"b:1", 10}, {"c:1", 10}}));
  EXPECT_EQ(board_->state(), ConnectivityState::kReady);
}

TEST_F(ChannelLaneTest, HandedOverCallsHaveStartedBeforeWhatIsPostedBehindThem) {
  StartServers({"a:1"});
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1"});
  std::vector<size_t> held;
  for (int i = 0; i < 3; ++i) {
    HandOver(kHold);
    loop_.Post([this, &held] {
      for (const std::string& connection : lane_->DescribeConnections()) {
        for (size_t calls = 0; calls < 10; ++calls) {
          if (absl::StrContains(connection, absl::StrCat(calls, " calls in flight"))) held.push_back(calls);
        }
      }
    });
  }
  loop_.RunUntilIdle();
  EXPECT_THAT(held, ::testing::ElementsAre(::testing::Ge(1u), ::testing::Ge(2u), 3u));
}

TEST_F(ChannelLaneTest, CallHandedOverToALaneThatIsShutDownIsCancelled) {
  StartServers({"a:1"});
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1"});
  const LaneCall* const call = HandOver(kWho);
  lane_->Shutdown("the channel is gone");
  loop_.RunUntilIdle();
  ASSERT_THAT(call->ends, SizeIs(1));
  EXPECT_EQ(call->ends[0].code(), absl::StatusCode::kCancelled);
}

TEST_F(ChannelLaneTest, PickFirstConnectsToOneServerAlone) {
  StartServers({"a:1", "b:1"});
  OpenLane(rpc::PolicyKind::kPickFirst);
  Name({"a:1", "b:1"});
  EXPECT_EQ(Tally(5), (std::map<std::string, int>{{"a:1", 5}}));
  EXPECT_EQ(servers_["b:1"]->connections(), 0u);
}

TEST_F(ChannelLaneTest, PickFirstGoesToTheNextServerWhenItsChoiceDies) {
  StartServers({"a:1", "b:1"});
  OpenLane(rpc::PolicyKind::kPickFirst);
  Name({"a:1", "b:1"});
  EXPECT_EQ(Who(), "a:1");
  servers_.erase("a:1");
  loop_.RunUntilIdle();
  EXPECT_EQ(Who(), "b:1");
  EXPECT_GT(refreshes_, 0);
}

TEST_F(ChannelLaneTest, CallsOfOneKeyHaveOneServer) {
  StartServers({"a:1", "b:1", "c:1"});
  OpenLane(rpc::PolicyKind::kConsistentHashing);
  Name({"a:1", "b:1", "c:1"});
  std::map<std::string, std::map<std::string, int>> tally;
  for (int i = 0; i < 60; ++i) {
    auto call = std::make_unique<LaneCall>();
    const std::string key = std::to_string(i % 6);
    call->context.set_hash_key(key);
    ++tally[key][Start(kWho, std::move(call))->reply.value()];
  }
  for (const auto& [key, servers] : tally) EXPECT_THAT(servers, SizeIs(1)) << key;
}

TEST_F(ChannelLaneTest, CallBeforeTheFirstListWaitsForIt) {
  StartServers({"a:1"});
  OpenLane(rpc::PolicyKind::kRoundRobin);
  LaneCall* const call = Start(kWho);
  EXPECT_THAT(call->ends, IsEmpty());
  Name({"a:1"});
  EXPECT_THAT(call->ends, ::testing::ElementsAre(absl::OkStatus()));
}

TEST_F(ChannelLaneTest, CallWithoutAServerFailsAfterTheConnectTimeoutAndNamesEach) {
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1", "b:1"});
  LaneCall* const call = Start(kWho);
  loop_.Advance(options_.connect_timeout - absl::Milliseconds(1));
  EXPECT_THAT(call->ends, IsEmpty());
  loop_.Advance(absl::Milliseconds(1));
  ASSERT_THAT(call->ends, SizeIs(1));
  EXPECT_EQ(call->ends[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(GetCertainty(call->ends[0]), Certainty::kNotSent);
  EXPECT_THAT(std::string(call->ends[0].message()), HasSubstr("nobody listens on a:1"));
  EXPECT_THAT(std::string(call->ends[0].message()), HasSubstr("nobody listens on b:1"));
  EXPECT_EQ(board_->state(), ConnectivityState::kTransientFailure);
}

TEST_F(ChannelLaneTest, CallThatWaitsForReadyOutlastsTheConnectTimeout) {
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1"});
  auto owned = std::make_unique<LaneCall>();
  owned->context.set_wait_for_ready(true);
  LaneCall* const call = Start(kWho, std::move(owned));
  loop_.Advance(options_.connect_timeout * 10);
  EXPECT_THAT(call->ends, IsEmpty());
  StartServers({"a:1"});
  loop_.Advance(absl::Seconds(10));
  EXPECT_THAT(call->ends, ::testing::ElementsAre(absl::OkStatus()));
}

TEST_F(ChannelLaneTest, WaitingCallEndsByCancelAndByDeadline) {
  OpenLane(rpc::PolicyKind::kRoundRobin);
  auto timed = std::make_unique<LaneCall>();
  timed->context.set_timeout(absl::Seconds(1));
  LaneCall* const late = Start(kWho, std::move(timed));
  LaneCall* const cancelled = Start(kWho);
  cancelled->context.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_THAT(cancelled->ends, SizeIs(1));
  EXPECT_EQ(cancelled->ends[0].code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(late->ends, IsEmpty());
  loop_.Advance(absl::Seconds(1));
  ASSERT_THAT(late->ends, SizeIs(1));
  EXPECT_EQ(late->ends[0].code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ChannelLaneTest, DrainedServerCostsNoCall) {
  StartServers({"a:1", "b:1"});
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1", "b:1"});
  LaneCall* const first = Start(kHold);
  LaneCall* const second = Start(kHold);
  servers_["a:1"]->Drain();
  EXPECT_EQ(Tally(10), (std::map<std::string, int>{{"b:1", 10}}));
  for (const char* name : {"a:1", "b:1"}) {
    for (Responder& done : servers_[name]->held) done(absl::OkStatus());
  }
  loop_.RunUntilIdle();
  EXPECT_THAT(first->ends, ::testing::ElementsAre(absl::OkStatus()));
  EXPECT_THAT(second->ends, ::testing::ElementsAre(absl::OkStatus()));
}

TEST_F(ChannelLaneTest, CallThatAServerHasBegunIsNotMadeAgain) {
  StartServers({"a:1", "b:1"});
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1", "b:1"});
  LaneCall* const call = Start("test.Lambda/Refuse");
  ASSERT_THAT(call->ends, SizeIs(1));
  EXPECT_EQ(call->ends[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(servers_["a:1"]->refused + servers_["b:1"]->refused, 1);
}

TEST_F(ChannelLaneTest, ServerThatLeavesTheListFinishesItsCallsAndIsLeft) {
  StartServers({"a:1", "b:1"});
  OpenLane(rpc::PolicyKind::kPickFirst);
  Name({"a:1"});
  LaneCall* const call = Start(kHold);
  Name({"b:1"});
  EXPECT_EQ(Who(), "b:1");
  EXPECT_EQ(servers_["a:1"]->connections(), 1u);
  servers_["a:1"]->held.at(0)(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(call->ends, ::testing::ElementsAre(absl::OkStatus()));
  EXPECT_EQ(servers_["a:1"]->connections(), 0u);
  EXPECT_THAT(lane_->DescribeConnections(), ::testing::ElementsAre(HasSubstr("b:1")));

  LaneCall* const next = Start(kHold);  // Perhaps in its memory.
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_THAT(next->ends, SizeIs(0));
}

TEST_F(ChannelLaneTest, ServerThatLeavesTheListAsTheChannelEndsIsLeft) {
  StartServers({"a:1", "b:1"});
  OpenLane(rpc::PolicyKind::kPickFirst);
  Name({"a:1"});
  EXPECT_EQ(Who(), "a:1");
  loop_.Post([this] {
    lane_->OnList(std::vector<rpc::ServerAddress>{{"b:1"}});
    lane_->Shutdown("the channel was destroyed");
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(servers_["a:1"]->connections(), 0u);
  EXPECT_THAT(lane_->DescribeConnections(), ::testing::ElementsAre(HasSubstr("b:1")));
}

TEST_F(ChannelLaneTest, IdleServersAreLeftAndFoundAgain) {
  options_.idle_timeout = absl::Minutes(1);
  StartServers({"a:1", "b:1"});
  OpenLane(rpc::PolicyKind::kRoundRobin);
  Name({"a:1", "b:1"});
  EXPECT_EQ(Tally(4), (std::map<std::string, int>{{"a:1", 2}, {"b:1", 2}}));
  loop_.Advance(absl::Minutes(2));
  EXPECT_EQ(servers_["a:1"]->connections() + servers_["b:1"]->connections(), 0u);
  EXPECT_EQ(board_->state(), ConnectivityState::kIdle);
  EXPECT_NE(Who(), "nobody");
}

TEST_F(ChannelLaneTest, ShutdownEndsWhatWaits) {
  OpenLane(rpc::PolicyKind::kRoundRobin);
  LaneCall* const call = Start(kWho);
  lane_->Shutdown("the channel was destroyed");
  loop_.RunUntilIdle();
  ASSERT_THAT(call->ends, SizeIs(1));
  EXPECT_EQ(call->ends[0].code(), absl::StatusCode::kCancelled);
}

TEST_F(ChannelLaneTest, ServerThatSaysItIsLoadedHasFewerCalls) {
  StartServers({"ada:1", "bob:1"});
  servers_["ada:1"]->SetLoad(0.9);
  OpenLane(rpc::PolicyKind::kLeastOutstandingOfTwo);
  Name({"ada:1", "bob:1"});
  for (int i = 0; i < 8; ++i) Who();  // Each answers, and says it.
  for (int i = 0; i < 44; ++i) Start(kHold);
  EXPECT_LE(servers_["ada:1"]->held.size(), 5u);
  servers_["ada:1"]->SetLoad(0);
  loop_.Advance(rpc::LoadReport::kInterval);
  for (const auto& [name, server] : servers_) {
    for (Responder& done : std::exchange(server->held, {})) done(absl::OkStatus());
  }
  loop_.RunUntilIdle();
  for (int i = 0; i < 44; ++i) Start(kHold);
  EXPECT_EQ(servers_["ada:1"]->held.size(), 22u);
}

TEST_F(ChannelLaneTest, LoadIsHeardInAnAnswerThatNobodyAwaitsAnyMore) {
  StartServers({"ada:1", "bob:1"});
  OpenLane(rpc::PolicyKind::kLeastOutstandingOfTwo);
  Name({"ada:1", "bob:1"});
  LaneCall* const calls[] = {Start(kHold), Start(kHold)};  // One at each.
  servers_["ada:1"]->SetLoad(0.9);
  network_.set_message_delay(absl::Milliseconds(10));
  for (const auto& [name, server] : servers_) {
    for (Responder& done : std::exchange(server->held, {})) done(absl::OkStatus());
  }
  loop_.RunUntilIdle();
  for (LaneCall* const call : calls) call->context.TryCancel();
  loop_.Advance(absl::Milliseconds(100));
  network_.set_message_delay(absl::ZeroDuration());
  for (const LaneCall* const call : calls) EXPECT_EQ(call->ends.at(0).code(), absl::StatusCode::kCancelled);
  for (int i = 0; i < 44; ++i) Start(kHold);
  EXPECT_LE(servers_["ada:1"]->held.size(), 5u);
}

class ConnectOnceTest : public ChannelLaneTest, public ::testing::WithParamInterface<rpc::PolicyKind> {};

// The idle connection is closed, and the server that is not there left alone.
TEST_P(ConnectOnceTest, BeforeTheFirstListConnectReachesWhoIsThereAndAsksForNothingMore) {
  options_.connect_ahead = false;
  options_.idle_timeout = absl::Seconds(30);
  StartServers({"b:1"});
  OpenLane(GetParam());
  lane_->Connect();
  Name({"a:1", "b:1"});
  loop_.RunUntilIdle();
  EXPECT_EQ(board_->state(), ConnectivityState::kReady);
  const size_t connects = network_.connects();
  loop_.Advance(absl::Minutes(10));
  EXPECT_EQ(network_.connects(), connects);
  EXPECT_EQ(servers_["b:1"]->connections(), 0u);
}
INSTANTIATE_TEST_SUITE_P(Policies, ConnectOnceTest,
                         ::testing::Values(rpc::PolicyKind::kPickFirst, rpc::PolicyKind::kRoundRobin));

}  // namespace
}  // namespace verbena
