// Several servers behind one channel: who has the calls, and what becomes of them when servers come and go.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/interop.verbena.h"

namespace verbena::interop {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr absl::Duration kPatience = absl::Seconds(60);  // For what must come: a hang fails, a slow machine does not.

// A server that says who it is.
class NamedServer : public TestService::Service {
 public:
  explicit NamedServer(std::string name) : name_(std::move(name)) {
    Server::Builder builder;
    builder.AddListeningAddress(integration::AddressUnderTest()).RegisterService(this);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  absl::Status EmptyCall(ServerContext* context, const Empty*, Empty*) override {
    return context->AddInitialMetadata("server", name_);
  }
  std::string address() const { return server_->addresses().front(); }
  void Drain() { server_->Shutdown(kPatience); }

 private:
  const std::string name_;
  std::unique_ptr<Server> server_;
};

class ManyServersTest : public ::testing::Test {
 protected:
  ManyServersTest() {
    for (const char* name : {"a", "b", "c"}) servers_[name] = std::make_unique<NamedServer>(name);
    options_.balancing.policy = rpc::PolicyKind::kRoundRobin;
    options_.connect_timeout = kPatience;
  }
  std::string List() const {
    std::vector<std::string> addresses;
    for (const auto& [name, server] : servers_) addresses.push_back(server->address());
    return absl::StrJoin(addresses, ",");
  }
  void Open(const std::string& target) {
    absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(target, options_);
    ASSERT_TRUE(channel.ok()) << channel.status();
    channel_ = *std::move(channel);
    stub_ = std::make_unique<TestService::Stub>(channel_);
  }
  // The server's name, or the status.
  std::string Who() {
    ClientContext context;
    context.set_timeout(kPatience);
    Empty reply;
    const absl::Status status = stub_->EmptyCall(&context, Empty(), &reply);
    if (!status.ok()) return status.ToString();
    return std::string(context.initial_metadata().Find("server").value_or("nameless"));
  }
  std::map<std::string, int> Tally(int calls) {
    std::map<std::string, int> tally;
    for (int i = 0; i < calls; ++i) ++tally[Who()];
    return tally;
  }
  // Calls until those that answer are these. A list that changes has an old and a new server answer on the way there.
  void AwaitServers(const std::set<std::string>& names) {
    const absl::Time end = absl::Now() + kPatience;
    while (WhoAnswers() != names && absl::Now() < end) {
    }
    EXPECT_EQ(WhoAnswers(), names);
  }
  std::set<std::string> WhoAnswers() {
    std::set<std::string> names;
    for (const auto& [name, calls] : Tally(30)) names.insert(name);
    return names;
  }

  std::map<std::string, std::unique_ptr<NamedServer>> servers_;
  ChannelOptions options_;
  std::shared_ptr<Channel> channel_;
  std::unique_ptr<TestService::Stub> stub_;
};

TEST_F(ManyServersTest, EveryServerOfAListHasItsShare) {
  Open(List());
  AwaitServers({"a", "b", "c"});
  EXPECT_THAT(Tally(300), Each(Pair(::testing::_, Gt(90))));
}

TEST_F(ManyServersTest, RollingRestartCostsNoCall) {
  Open(List());
  AwaitServers({"a", "b", "c"});
  for (const char* name : {"a", "b"}) {
    servers_[name]->Drain();
    for (const auto& [who, calls] : Tally(100)) EXPECT_THAT(who, SizeIs(1)) << who;
  }
  EXPECT_THAT(Tally(10), ::testing::ElementsAre(Pair("c", 10)));
}

TEST_F(ManyServersTest, ServersThatAreGoneAreLeftAlone) {
  Open(List());
  AwaitServers({"a", "b", "c"});
  servers_.erase("b");
  // At most the calls that were on their way know of it.
  AwaitServers({"a", "c"});
}

TEST_F(ManyServersTest, FileThatChangesMovesTheCalls) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/servers");
  const auto write = [&path](const std::string& lines) {
    std::ofstream(path + ".next") << lines;
    ASSERT_EQ(std::rename((path + ".next").c_str(), path.c_str()), 0);
  };
  write(absl::StrCat("# The first\n", servers_["a"]->address(), "\n"));
  Open(absl::StrCat("file://", path));
  EXPECT_THAT(Tally(10), ::testing::ElementsAre(Pair("a", 10)));
  write(absl::StrCat(servers_["b"]->address(), "\n", servers_["c"]->address(), "\n"));
  AwaitServers({"b", "c"});
  EXPECT_THAT(Tally(20), ::testing::UnorderedElementsAre(Pair("b", Gt(5)), Pair("c", Gt(5))));
}

TEST_F(ManyServersTest, CallsOfOneKeyStayWhereTheyAre) {
  options_.balancing.policy = rpc::PolicyKind::kConsistentHashing;
  const auto who = [this](int key) {
    ClientContext context;
    context.set_hash_key(absl::StrCat("key ", key));
    Empty reply;
    EXPECT_EQ(stub_->EmptyCall(&context, Empty(), &reply), absl::OkStatus());
    return std::string(context.initial_metadata().Find("server").value_or("nameless"));
  };
  const auto who_of_each_key = [this, &who] {
    Open(List());  // Each time by a channel that has only begun to connect.
    std::vector<std::string> names;
    for (int key = 0; key < 50; ++key) names.push_back(who(key));
    return names;
  };
  const std::vector<std::string> first = who_of_each_key();
  EXPECT_THAT(std::set<std::string>(first.begin(), first.end()), SizeIs(3));
  for (int channel = 0; channel < 10; ++channel) EXPECT_EQ(who_of_each_key(), first);
}

TEST_F(ManyServersTest, NobodyThereIsSaidOfEach) {
  // No port of servers that were there: another test's server might have it by now.
  std::vector<std::string> addresses;
  for (const uint16_t port : {1, 2, 3}) addresses.push_back(integration::AddressUnderTest(port));
  options_.connect_timeout = absl::Milliseconds(500);
  Open(absl::StrJoin(addresses, ","));
  const std::string who = Who();
  EXPECT_THAT(who, ::testing::HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(who, ::testing::HasSubstr("no server within"));
}

}  // namespace
}  // namespace verbena::interop
