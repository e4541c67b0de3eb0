// The simulator can fail: each fault of our own making is found, in words that name it.

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulation/run.h"

namespace verbena::simulation {
namespace {

// A scenario without faults of the world, in which everything that happens is the sabotage's doing.
Scenario Sabotaged(Sabotage sabotage, wire::Packing packing) {
  Scenario scenario;
  scenario.connections = 2;
  scenario.spare_receives = 8;
  scenario.client_spare_receives = 8;
  scenario.slow_us_typical = 20;
  scenario.repost_us_max = 10;
  scenario.answer_one_in = 3;
  scenario.packing = packing;
  scenario.cancel_send_one_in = sabotage == Sabotage::kReleaseEarly ? 2 : 0;
  scenario.sabotage = sabotage;
  return scenario;
}

struct Found {
  int runs = 0;
  int violations = 0;
  std::string words;  // Of all violations.
};

Found Search(Sabotage sabotage, wire::Packing packing = wire::Packing::kNone) {
  Found found;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const RunResult result = RunScenario(seed, Sabotaged(sabotage, packing), false);
    ++found.runs;
    if (!result.violation) continue;
    ++found.violations;
    found.words += *result.violation + "\n";
  }
  return found;
}

TEST(Mutation, WithoutSabotageNothingIsFound) { EXPECT_EQ(Search(Sabotage::kNone).words, ""); }

TEST(Mutation, ADroppedGrantIsFoundInEveryRun) {
  const Found found = Search(Sabotage::kDropGrant);
  EXPECT_EQ(found.violations, found.runs);
  EXPECT_THAT(found.words, testing::HasSubstr("credits, but"));
}

TEST(Mutation, ADroppedFinishIsFound) {
  const Found found = Search(Sabotage::kDropFinish);
  EXPECT_GT(found.violations, found.runs / 2);
  EXPECT_THAT(found.words, testing::HasSubstr("stuck"));
}

TEST(Mutation, AFrameDeliveredTwiceIsFound) {
  const Found found = Search(Sabotage::kDeliverTwice);  // But for a Goodbye's, whose second finds nobody.
  EXPECT_GT(found.violations, found.runs * 3 / 4);
}

TEST(Mutation, ALostSendCompletionIsFoundInEveryRun) {
  const Found found = Search(Sabotage::kLoseSendCompletions);
  EXPECT_EQ(found.violations, found.runs);
  EXPECT_THAT(found.words, testing::HasSubstr("stuck"));
}

TEST(Mutation, ARepostThatNeverWasIsFoundInEveryRun) {
  const Found found = Search(Sabotage::kRepostTooOften);
  EXPECT_EQ(found.violations, found.runs);
  EXPECT_THAT(found.words, testing::HasSubstr("posted receives and 0 that leave, the device"));
}

TEST(Mutation, AnExportReusedAfterACancelIsFound) {
  const Found found = Search(Sabotage::kReleaseEarly);
  EXPECT_GT(found.violations, 0);
  EXPECT_THAT(found.words, testing::HasSubstr("not exported, or no longer"));
}

TEST(Mutation, ReorderedEagerMessagesAreFound) {
  const Found found = Search(Sabotage::kReorderFrames);
  EXPECT_GT(found.violations, 0);
  EXPECT_THAT(found.words, testing::HasSubstr("out of order"));
}

TEST(Mutation, ALostFrameThatJoinedAnotherIsFound) {
  const Found found = Search(Sabotage::kLoseJoined, wire::Packing::kEager);
  EXPECT_GT(found.violations, found.runs / 3);
  EXPECT_THAT(found.words, testing::HasSubstr("is reported delivered and was not"));
}

TEST(Mutation, ALostAnnouncementOrFinishThatJoinedAnotherIsFound) {
  const Found found = Search(Sabotage::kLoseJoined, wire::Packing::kRendezvous);
  EXPECT_GT(found.violations, found.runs / 2);
  EXPECT_THAT(found.words, testing::HasSubstr("stuck"));
}

}  // namespace
}  // namespace verbena::simulation
