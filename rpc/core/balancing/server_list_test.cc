#include "rpc/core/balancing/server_list.h"

#include <gtest/gtest.h>

#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

TEST(ServerList, ServersThatStayKeepIdAndState) {
  ServerList list = ReadyList({{"a"}, {"b"}});
  const ServerId b = list.servers()[1].id;
  At(list, 1).calls_in_flight = 7;
  list.Update(std::vector<ServerAddress>{{"b", 5}, {"c"}});
  ASSERT_EQ(list.servers()[0].id, b);
  EXPECT_EQ(list.servers()[0].state, ServerState::kReady);
  EXPECT_EQ(list.servers()[0].calls_in_flight, 7u);
  EXPECT_EQ(list.servers()[0].address.weight, 5u);
  EXPECT_EQ(list.servers()[1].state, ServerState::kIdle);
}

TEST(ServerList, ChangeNamesWhoCameAndWhoWent) {
  ServerList list;
  const ServerList::Change first = list.Update(std::vector<ServerAddress>{{"a"}, {"b"}});
  EXPECT_EQ(first.added.size(), 2u);
  const ServerList::Change second = list.Update(std::vector<ServerAddress>{{"b"}, {"c"}});
  EXPECT_EQ(second.removed, std::vector<ServerId>{first.added[0]});
  EXPECT_EQ(second.added, std::vector<ServerId>{list.servers()[1].id});
  EXPECT_EQ(list.Find(first.added[0]), nullptr);
}

TEST(ServerList, ServerThatComesBackHasAnotherId) {
  ServerList list;
  const ServerId before = list.Update(std::vector<ServerAddress>{{"a"}}).added[0];
  list.Update(std::vector<ServerAddress>{{"b"}});
  EXPECT_NE(list.Update(std::vector<ServerAddress>{{"a"}}).added[0], before);
}

TEST(ServerList, EmptyListOrErrorKeepsTheLastGoodOne) {
  ServerList list;
  list.Update(std::vector<ServerAddress>{{"a"}});
  list.Update(std::vector<ServerAddress>{});
  EXPECT_EQ(list.list_error().message(), "the list of servers is empty");
  list.Update(absl::NotFoundError("no such name"));
  EXPECT_EQ(list.list_error(), absl::NotFoundError("no such name"));
  EXPECT_EQ(list.servers().size(), 1u);
  list.Update(std::vector<ServerAddress>{{"a"}});
  EXPECT_TRUE(list.list_error().ok());
}

TEST(ServerList, ServerNamedTwiceIsOne) {
  ServerList list;
  list.Update(std::vector<ServerAddress>{{"a", 2}, {"b"}, {"a", 9}});
  ASSERT_EQ(list.servers().size(), 2u);
  EXPECT_EQ(list.servers()[0].address.weight, 2u);
}

TEST(ServerList, WeightsAreCutToTheirBounds) {
  ServerList list;
  list.Update(std::vector<ServerAddress>{{"a", 0}, {"b", 0xffffffff}});
  EXPECT_EQ(list.servers()[0].address.weight, 1u);
  EXPECT_EQ(list.servers()[1].address.weight, kServerWeightMax);
}

TEST(ServerList, EjectedServersArePickableOnlyIfNothingElseIs) {
  ServerList list = ReadyList(Addresses(2));
  At(list, 0).ejected = true;
  list.UpdatePickable();
  EXPECT_FALSE(list.servers()[0].pickable);
  At(list, 1).serving = false;
  list.UpdatePickable();
  EXPECT_TRUE(list.servers()[0].pickable);
  EXPECT_FALSE(list.servers()[1].pickable);
}

TEST(ServerList, FailuresOfUnwantedServersAreForgottenOnlyBesideAGoodOne) {
  ServerList list = ReadyList(Addresses(2));
  At(list, 1).state = ServerState::kFailed;
  At(list, 1).failure = absl::UnavailableError("refused");
  At(list, 0).ejected = true;
  list.UpdatePickable();
  const auto unwanted = [&](ServerId id) { return id == list.servers()[1].id; };
  list.ForgetFailures(unwanted);
  EXPECT_FALSE(list.servers()[1].Untried());
  At(list, 0).ejected = false;
  list.ForgetFailures(unwanted);
  EXPECT_TRUE(list.servers()[1].Untried());
}

}  // namespace
}  // namespace verbena::rpc
