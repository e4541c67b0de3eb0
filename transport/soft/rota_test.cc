#include "transport/soft/rota.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

struct Looked {
  int looks = 0;
  bool stays = true;
};

class RotaTest : public testing::Test {
 protected:
  explicit RotaTest(size_t members = 10) : members_(members) {
    for (Looked& member : members_) rota_.Add({&member});
  }

  // Whom it looked at, by number, in order.
  std::vector<int> Look(size_t count) {
    std::vector<int> seen;
    rota_.LookAtNext(count, [&](Looked* member) {
      ++member->looks;
      seen.push_back(static_cast<int>(member - members_.data()));
      return member->stays;
    });
    return seen;
  }

  std::vector<Looked> members_;
  Rota<Looked> rota_;
};

using Numbers = std::vector<int>;

TEST_F(RotaTest, LooksAtAllInTurn) {
  EXPECT_EQ(Look(4), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(Look(4), (Numbers{4, 5, 6, 7}));
  EXPECT_EQ(Look(4), (Numbers{8, 9, 0, 1}));
}

TEST_F(RotaTest, LooksAtEachOnceHoweverManyAreAskedFor) {
  Look(3);
  EXPECT_EQ(Look(100), (Numbers{3, 4, 5, 6, 7, 8, 9, 0, 1, 2}));
}

TEST_F(RotaTest, WithoutMembersThereIsNothingToLookAt) {
  for (Looked& member : members_) rota_.Remove(&member);
  EXPECT_EQ(Look(3), Numbers{});
  rota_.Remove(&members_[0]);
  EXPECT_EQ(rota_.size(), 0u);
}

TEST_F(RotaTest, WhoIsNotToBeLookedAtAgainIsTakenOut) {
  members_[1].stays = members_[2].stays = false;
  EXPECT_EQ(Look(4), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(rota_.size(), 8u);
  EXPECT_EQ(Look(8), (Numbers{4, 5, 6, 7, 8, 9, 0, 3}));
}

TEST_F(RotaTest, AFullLookThatBeginsAnywhereLooksAtEachOnceThoughSomeGo) {
  for (int begin = 0; begin < 10; ++begin) {
    std::vector<Looked> members(10);
    Rota<Looked> rota;
    for (Looked& member : members) rota.Add({&member});
    rota.LookAtNext(static_cast<size_t>(begin), [](Looked*) { return true; });
    for (Looked& member : members) member = {.stays = &member != &members[9] && &member != &members[4]};
    rota.LookAtNext(rota.size(), [](Looked* member) { return ++member->looks, member->stays; });
    for (const Looked& member : members) EXPECT_EQ(member.looks, 1) << begin << ", " << &member - members.data();
    EXPECT_EQ(rota.size(), 8u);
  }
}

TEST_F(RotaTest, WhoseTurnItIsKeepsItWhenAnotherLeaves) {
  Look(4);
  rota_.Remove(&members_[1]);
  rota_.Remove(&members_[8]);
  EXPECT_EQ(Look(2), (Numbers{4, 5}));
  rota_.Remove(&members_[6]);
  EXPECT_EQ(Look(3), (Numbers{7, 9, 0}));
}

// Members come, go and are taken out as it happens: at any time those who stay have been looked at equally often, but
// for one look.
TEST(Rota, NobodyIsLeftOut) {
  constexpr uint32_t kSeed = 20261127;
  std::mt19937 random(kSeed);
  std::vector<Looked> stayers(50), others(50);
  Rota<Looked> rota;
  for (Looked& member : stayers) rota.Add({&member});
  for (int round = 0; round < 5000; ++round) {
    Looked& other = others[random() % others.size()];
    rota.Remove(&other);
    other.stays = random() % 2 == 0;
    if (random() % 2 == 0) rota.Add({&other});
    rota.LookAtNext(random() % 120, [](Looked* member) { return ++member->looks, member->stays; });
    int least = stayers[0].looks, most = stayers[0].looks;
    for (const Looked& member : stayers) {
      least = std::min(least, member.looks);
      most = std::max(most, member.looks);
    }
    ASSERT_LE(most, least + 1) << "seed " << kSeed << ", round " << round;
  }
  EXPECT_GT(stayers[0].looks, 1000);
}

}  // namespace
}  // namespace verbena::soft
