// A lane that asks its servers how healthy they are, over a network in memory and in virtual time.

#include "rpc/health_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/channel_core.h"
#include "rpc/channel_lane.h"
#include "rpc/health/health_service.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/loop_server.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/memory_network.h"
#include "transport/log.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using testing::Text;
using Status = HealthService::Status;

constexpr char kService[] = "demo.Greeter";

// Says its name.
class NamedServer {
 public:
  NamedServer(const std::string& name, Service* health, testing::MemoryNetwork* network, testing::ManualLoop* loop) {
    service_.AddCallback("Who", [name](ServerContext*, const Text&, Text* reply, Responder done) {
      reply->set_value(name);
      done(absl::OkStatus());
    });
    std::vector<Service*> services = {&service_};
    if (health != nullptr) services.push_back(health);
    server_.emplace(name, services, network, loop);
  }
  size_t connections() const { return server_->connections(); }

 private:
  testing::LambdaService service_;
  std::optional<testing::LoopServer> server_;
};

class HealthWatchesTest : public ::testing::Test {
 protected:
  ~HealthWatchesTest() override {
    lane_->Shutdown("the test is over");
    loop_.RunUntilIdle();
  }
  void StartServer(const std::string& name, Service* health) {
    servers_[name] = std::make_unique<NamedServer>(name, health, &network_, &loop_);
  }
  void OpenLane(const std::vector<std::string>& names) {
    rpc::BalancerOptions options;
    options.policy = rpc::PolicyKind::kRoundRobin;
    options_.health_check_service = kService;
    lane_ = rpc::ChannelLane::WithBalancer(&network_, *rpc::Balancer::Create(options), [] {}, options_, &loop_, board_,
                                           {1, 42});
    lane_->Open();
    Name(names);
  }
  void Name(const std::vector<std::string>& names) {
    std::vector<rpc::ServerAddress> list;
    for (const std::string& name : names) list.push_back({name});
    loop_.Post([this, list] { lane_->OnList(list); });
    loop_.RunUntilIdle();
  }
  // Who answers so many calls, one after the other, and how often.
  std::map<std::string, int> Answers(int calls) {
    std::map<std::string, int> answers;
    for (int i = 0; i < calls; ++i) ++answers[Who()];
    return answers;
  }
  // Empty: it fails.
  std::string Who() {
    ClientContext context;
    Text request, reply;
    bool done = false;
    rpc::UserCall call;
    call.method = "test.Lambda/Who";
    call.context = &context;
    call.request = &request;
    call.reply = &reply;
    call.done = [&done](absl::Status) { done = true; };
    loop_.Post([this, &call] { lane_->Start(std::move(call)); });
    loop_.RunUntil([&done] { return done; });
    return reply.value();
  }

  using Answered = std::map<std::string, int>;

  testing::ManualLoop loop_;
  testing::MemoryNetwork network_{&loop_};
  ChannelOptions options_;
  std::shared_ptr<rpc::ConnectivityBoard> board_ = std::make_shared<rpc::ConnectivityBoard>();
  HealthService ada_, bob_;
  std::map<std::string, std::unique_ptr<NamedServer>> servers_;
  std::shared_ptr<rpc::ChannelLane> lane_;
};

TEST_F(HealthWatchesTest, CallsGoToThoseThatServeAndFollowTheirHealth) {
  ada_.SetServingStatus(kService, Status::SERVING);
  bob_.SetServingStatus(kService, Status::NOT_SERVING);
  StartServer("ada:1", &ada_);
  StartServer("bob:1", &bob_);
  OpenLane({"ada:1", "bob:1"});
  EXPECT_EQ(Answers(4), (Answered{{"ada:1", 4}}));
  bob_.SetServingStatus(kService, Status::SERVING);
  loop_.RunUntilIdle();
  EXPECT_EQ(Answers(4), (Answered{{"ada:1", 2}, {"bob:1", 2}}));
  ada_.SetServingStatus(kService, Status::NOT_SERVING);
  loop_.RunUntilIdle();
  EXPECT_EQ(Answers(4), (Answered{{"bob:1", 4}}));
}

TEST_F(HealthWatchesTest, ServerThatDoesNotKnowTheServiceDoesNotServeIt) {
  ada_.SetServingStatus(kService, Status::SERVING);
  StartServer("ada:1", &ada_);
  StartServer("bob:1", &bob_);
  OpenLane({"ada:1", "bob:1"});
  EXPECT_EQ(Answers(4), (Answered{{"ada:1", 4}}));
}

TEST_F(HealthWatchesTest, ServerWithoutTheMethodServes) {
  StartServer("ada:1", nullptr);
  StartServer("bob:1", nullptr);
  OpenLane({"ada:1", "bob:1"});
  EXPECT_EQ(Answers(4), (Answered{{"ada:1", 2}, {"bob:1", 2}}));
}

TEST_F(HealthWatchesTest, WhereNobodyServesCallsFail) {
  ada_.SetServingStatus(kService, Status::NOT_SERVING);
  StartServer("ada:1", &ada_);
  OpenLane({"ada:1"});
  EXPECT_EQ(Who(), "");
}

TEST_F(HealthWatchesTest, CallsWaitForTheFirstAnswer) {
  testing::LambdaService silent("grpc.health.v1.Health");
  std::vector<Responder> held;
  std::shared_ptr<rpc::MessageStream> watch;
  google::protobuf::Int32Value serving;
  serving.set_value(1);
  silent.AddStream(
      "Watch", MethodKind::kServerStreaming,
      [&](ServerContext*, const Text& request, Text*, std::shared_ptr<rpc::MessageStream> stream, Responder done) {
        EXPECT_EQ(request.value(), kService);
        watch = std::move(stream);
        held.push_back(std::move(done));
      });
  StartServer("ada:1", &silent);
  OpenLane({"ada:1"});
  loop_.AddTimer(loop_.Now() + absl::Seconds(2), [&] { watch->Write(&serving, {}, [](absl::Status) {}); });
  const absl::Time before = loop_.Now();
  EXPECT_EQ(Who(), "ada:1");
  EXPECT_EQ(loop_.Now() - before, absl::Seconds(2));
  servers_.clear();  // Before the service that they serve.
}

TEST_F(HealthWatchesTest, WatchThatFailsIsMadeAgain) {
  testing::LambdaService health("grpc.health.v1.Health");
  int watches = 0;
  health.AddStream("Watch", MethodKind::kServerStreaming,
                   [&watches](ServerContext*, const Text&, Text*, std::shared_ptr<rpc::MessageStream>, Responder done) {
                     done(++watches == 1 ? absl::InternalError("not now") : absl::UnimplementedError("not ever"));
                   });
  StartServer("ada:1", &health);
  options_.connect_timeout = absl::Milliseconds(10);
  OpenLane({"ada:1"});
  EXPECT_EQ(watches, 1);
  EXPECT_EQ(Who(), "");
  loop_.Advance(rpc::HealthWatches::kRetryDelay);
  EXPECT_EQ(watches, 2);
  EXPECT_EQ(Who(), "ada:1");
  loop_.Advance(absl::Hours(1));
  EXPECT_EQ(watches, 2);
  servers_.clear();  // Before the service that they serve.
}

// To calls such a server looks like one that says it does not serve.
TEST_F(HealthWatchesTest, WhyAServerIsNotWatchedIsALineInTheLogOnce) {
  std::vector<std::string> lines;
  SetLogSink([&lines](Severity, absl::string_view text) { lines.emplace_back(text); });
  testing::LambdaService health("grpc.health.v1.Health");
  health.AddStream("Watch", MethodKind::kServerStreaming,
                   [](ServerContext*, const Text&, Text*, std::shared_ptr<rpc::MessageStream>, Responder done) {
                     done(absl::PermissionDeniedError("not you"));
                   });
  StartServer("ada:1", &health);
  OpenLane({"ada:1"});
  loop_.Advance(absl::Minutes(1));
  SetLogSink(nullptr);
  EXPECT_THAT(lines, ElementsAre("the health of demo.Greeter at ada:1 is not to be had: PERMISSION_DENIED: not you"));
  servers_.clear();  // Before the service that they serve.
}

TEST_F(HealthWatchesTest, ServerIsAskedAnewOnItsNextConnection) {
  ada_.SetServingStatus(kService, Status::SERVING);
  StartServer("ada:1", &ada_);
  OpenLane({"ada:1"});
  EXPECT_EQ(Who(), "ada:1");
  network_.Sever();
  ada_.SetServingStatus(kService, Status::NOT_SERVING);
  loop_.Advance(absl::Seconds(10));
  EXPECT_EQ(servers_["ada:1"]->connections(), 1u);
  EXPECT_EQ(Who(), "");
}

TEST_F(HealthWatchesTest, ConnectionOfAServerThatHasLeftTheListClosesThoughItIsWatched) {
  ada_.SetServingStatus(kService, Status::SERVING);
  bob_.SetServingStatus(kService, Status::SERVING);
  StartServer("ada:1", &ada_);
  StartServer("bob:1", &bob_);
  OpenLane({"ada:1", "bob:1"});
  EXPECT_EQ(servers_["bob:1"]->connections(), 1u);
  Name({"ada:1"});
  EXPECT_EQ(servers_["bob:1"]->connections(), 0u);
  EXPECT_EQ(Answers(2), (Answered{{"ada:1", 2}}));
}

TEST(HealthWatchesOptions, PickFirstDoesNotAsk) {
  testing::MemoryNetwork network;
  ChannelOptions options;
  options.health_check_service = kService;
  EXPECT_TRUE(absl::IsInvalidArgument(rpc::ChannelCore::Open(&network, "ada:1,bob:1", options).status()));
}

}  // namespace
}  // namespace verbena
