#include "rpc/core/balancing/pick_first.h"

#include <gtest/gtest.h>

#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

// PickFirst over servers whose states the test sets.
class PickFirstTest : public testing::Test {
 protected:
  PickFirstTest() {
    list_.Update(Addresses(3));
    Tell();
  }

  void Set(size_t position, ServerState state) {
    At(list_, position).state = state;
    if (state == ServerState::kFailed) At(list_, position).failure = absl::UnavailableError("refused");
    if (state == ServerState::kReady) At(list_, position).failure = absl::OkStatus();
    Tell();
  }
  void Tell() {
    list_.UpdatePickable();
    policy_.OnServersChanged(list_);
  }

  // One letter a server: whether it is wanted.
  std::string Wanted() const {
    std::string wanted;
    for (const ListedServer& server : list_.servers()) wanted += policy_.Wants(server.id) ? 'w' : '-';
    return wanted;
  }
  std::optional<size_t> Pick() { return policy_.Pick({}, list_); }

  ServerList list_;
  PickFirst policy_;
};

TEST_F(PickFirstTest, OnlyTheFirstIsWantedAtTheStart) {
  EXPECT_EQ(Wanted(), "w--");
  EXPECT_EQ(Pick(), std::nullopt);
}

TEST_F(PickFirstTest, NextIsTriedWhenOneFails) {
  Set(0, ServerState::kFailed);
  EXPECT_EQ(Wanted(), "-w-");
  Set(1, ServerState::kReady);
  EXPECT_EQ(Pick(), 1u);
}

TEST_F(PickFirstTest, ChoiceIsKeptWhenAnEarlierOneComesBack) {
  Set(0, ServerState::kFailed);
  Set(1, ServerState::kReady);
  Set(0, ServerState::kReady);
  EXPECT_EQ(Pick(), 1u);
  EXPECT_EQ(Wanted(), "-w-");
}

TEST_F(PickFirstTest, ChoiceIsKeptWhenTheOrderChanges) {
  Set(0, ServerState::kReady);
  list_.Update(std::vector<ServerAddress>{{"s2"}, {"s1"}, {"s0"}});
  Tell();
  EXPECT_EQ(Pick(), 2u);
}

TEST_F(PickFirstTest, AllAreWantedWhenAllHaveFailedAndTheFirstToAnswerIsChosen) {
  for (size_t i = 0; i < 3; ++i) Set(i, ServerState::kFailed);
  EXPECT_EQ(Wanted(), "www");
  Set(2, ServerState::kReady);
  EXPECT_EQ(Pick(), 2u);
  EXPECT_EQ(Wanted(), "--w");
}

TEST_F(PickFirstTest, ServerThatDoesNotServeIsLeft) {
  Set(0, ServerState::kReady);
  At(list_, 0).serving = false;
  Tell();
  EXPECT_EQ(Pick(), std::nullopt);
  EXPECT_EQ(Wanted(), "-w-");
}

TEST_F(PickFirstTest, EjectedChoiceHasTheCallsUntilAnotherIsReady) {
  Set(0, ServerState::kReady);
  At(list_, 0).ejected = true;
  Tell();
  EXPECT_EQ(Pick(), 0u);
  EXPECT_EQ(Wanted(), "ww-");
  Set(1, ServerState::kReady);
  EXPECT_EQ(Pick(), 1u);
  EXPECT_EQ(Wanted(), "-w-");
}

TEST_F(PickFirstTest, ChoiceThatLeavesTheListIsReplaced) {
  Set(0, ServerState::kReady);
  list_.Update(std::vector<ServerAddress>{{"s1"}, {"s2"}});
  Tell();
  EXPECT_EQ(Pick(), std::nullopt);
  EXPECT_EQ(Wanted(), "w-");
}

}  // namespace
}  // namespace verbena::rpc
