#include "rpc/core/balancing/consistent_hashing.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rpc/core/balancing/stable_hash.h"
#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

constexpr int kKeys = 20000;

class ConsistentHashingTest : public testing::Test {
 protected:
  ConsistentHashingTest() : list_(ReadyList(Addresses(10))) { Tell(); }

  void Tell() {
    list_.UpdatePickable();
    policy_.OnServersChanged(list_);
  }
  void Fail(size_t position) {
    At(list_, position).state = ServerState::kFailed;
    At(list_, position).failure = absl::UnavailableError("refused");
  }
  std::vector<size_t> PickAll() {
    std::vector<size_t> picks;
    for (int key = 0; key < kKeys; ++key) {
      picks.push_back(policy_.Pick({.key_hash = StableHash(std::to_string(key))}, list_).value());
    }
    return picks;
  }

  ServerList list_;
  ConsistentHashing policy_;
};

TEST_F(ConsistentHashingTest, KeyStaysWithItsServer) { EXPECT_EQ(PickAll(), PickAll()); }

TEST_F(ConsistentHashingTest, OnlyTheKeysOfAFailedServerMoveAndTheyAreSpread) {
  const std::vector<size_t> before = PickAll();
  Fail(4);
  Tell();
  const std::vector<size_t> after = PickAll();
  int heirs[10] = {};
  int moved = 0;
  for (int key = 0; key < kKeys; ++key) {
    if (before[key] != 4) {
      ASSERT_EQ(after[key], before[key]);
      continue;
    }
    ++moved;
    ++heirs[after[key]];
  }
  EXPECT_NEAR(moved, kKeys / 10, kKeys / 100);
  EXPECT_EQ(heirs[4], 0);
  for (size_t i = 0; i < 10; ++i) {
    if (i == 4) continue;
    EXPECT_NEAR(heirs[i], kKeys / 90, kKeys / 300) << i;
  }
}

TEST_F(ConsistentHashingTest, KeysReturnWithTheirServer) {
  const std::vector<size_t> before = PickAll();
  Fail(4);
  Tell();
  At(list_, 4).state = ServerState::kReady;
  At(list_, 4).failure = absl::OkStatus();
  Tell();
  EXPECT_EQ(PickAll(), before);
}

TEST_F(ConsistentHashingTest, LastServerHasAllKeys) {
  for (size_t i = 0; i < 10; ++i) {
    if (i != 7) Fail(i);
  }
  Tell();
  EXPECT_EQ(PickAll(), std::vector<size_t>(kKeys, 7));
}

TEST_F(ConsistentHashingTest, CallsWithoutAKeyGoAnywhere) {
  const size_t one = policy_.Pick({.random = 1}, list_).value();
  bool another = false;
  for (uint64_t random = 2; random < 100; ++random) another |= policy_.Pick({.random = random}, list_) != one;
  EXPECT_TRUE(another);
}

TEST_F(ConsistentHashingTest, KeyWaitsForItsServerWhileThatIsToBeTriedAndNoLonger) {
  const std::vector<size_t> before = PickAll();
  At(list_, 4).state = ServerState::kConnecting;
  Tell();
  for (int key = 0; key < kKeys; ++key) {
    const std::optional<size_t> pick = policy_.Pick({.key_hash = StableHash(std::to_string(key))}, list_);
    ASSERT_EQ(pick, before[key] == 4 ? std::nullopt : std::optional(before[key]));
  }
  Fail(4);
  Tell();
  for (const size_t pick : PickAll()) ASSERT_NE(pick, 4u);
}

TEST_F(ConsistentHashingTest, CallsWithoutAKeyWaitForNobodyInParticular) {
  for (size_t i = 0; i < 10; ++i) {
    if (i != 7) At(list_, i).state = ServerState::kConnecting;
  }
  Tell();
  for (uint64_t random = 0; random < 100; ++random) ASSERT_EQ(policy_.Pick({.random = random}, list_), 7u);
}

TEST_F(ConsistentHashingTest, NothingPickableIsNoPick) {
  for (size_t i = 0; i < 10; ++i) At(list_, i).state = ServerState::kIdle;
  Tell();
  EXPECT_EQ(policy_.Pick({.key_hash = 1}, list_), std::nullopt);
}

}  // namespace
}  // namespace verbena::rpc
