#include "rpc/core/overload/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "rpc/core/split_mix.h"

namespace verbena::rpc {
namespace {

using ::testing::ElementsAre;
using Queue = FairQueue<std::string>;

constexpr ClientId kAda{1};
constexpr ClientId kBob{2};
constexpr ClientId kCarl{3};

absl::Time At(int ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

// What had no place; empty: nothing.
std::string Push(Queue& queue, ClientId client, const std::string& value, int ms = 0) {
  const std::optional<Queue::Entry> dropped = queue.Push(client, value, At(ms));
  return dropped.has_value() ? dropped->value : "";
}

std::vector<std::string> PopAll(Queue& queue) {
  std::vector<std::string> popped;
  while (!queue.empty()) popped.push_back(queue.PopNext().value);
  return popped;
}

TEST(FairQueue, OneClientsAreServedInTheOrderTheyCame) {
  Queue queue(8);
  for (const char* value : {"a1", "a2", "a3"}) Push(queue, kAda, value);
  EXPECT_THAT(PopAll(queue), ElementsAre("a1", "a2", "a3"));
}

TEST(FairQueue, WhoIsTakenOutOfTurnReversesHisLineAndNoOther) {
  Queue queue(8);
  for (const char* value : {"a1", "a2", "a3", "a4"}) Push(queue, kAda, value);
  for (const char* value : {"b1", "b2"}) Push(queue, kBob, value);
  EXPECT_EQ(queue.PopOldest().value, "a1");
  EXPECT_THAT(PopAll(queue), ElementsAre("a4", "b1", "a3", "b2", "a2"));
}

TEST(FairQueue, LineThatHasBeenEmptyIsInOrderAgain) {
  Queue queue(8);
  Push(queue, kAda, "a1");
  EXPECT_EQ(queue.PopOldest().value, "a1");
  for (const char* value : {"a2", "a3"}) Push(queue, kAda, value);
  EXPECT_THAT(PopAll(queue), ElementsAre("a2", "a3"));
}

TEST(FairQueue, ClientsTakeTurns) {
  Queue queue(8);
  for (const char* value : {"a1", "a2", "a3", "a4"}) Push(queue, kAda, value);
  for (const char* value : {"b1", "b2"}) Push(queue, kBob, value);
  Push(queue, kCarl, "c1");
  EXPECT_THAT(PopAll(queue), ElementsAre("a1", "b1", "c1", "a2", "b2", "a3", "a4"));
}

TEST(FairQueue, WhoComesBackWaitsForOneTurnOfEachOther) {
  Queue queue(8);
  for (const char* value : {"a1", "a2", "a3"}) Push(queue, kAda, value);
  EXPECT_EQ(queue.PopNext().value, "a1");
  Push(queue, kBob, "b1");
  EXPECT_EQ(queue.PopNext().value, "a2");
  EXPECT_EQ(queue.PopNext().value, "b1");
  Push(queue, kBob, "b2");
  EXPECT_THAT(PopAll(queue), ElementsAre("a3", "b2"));
}

TEST(FairQueue, ClientThatIsAloneMayHaveEveryPlace) {
  Queue queue(3);
  EXPECT_EQ(Push(queue, kAda, "a1"), "");
  EXPECT_EQ(Push(queue, kAda, "a2"), "");
  EXPECT_EQ(Push(queue, kAda, "a3"), "");
  EXPECT_FALSE(queue.HasPlaceFor(kAda));
  EXPECT_EQ(Push(queue, kAda, "a4"), "a4");
  EXPECT_EQ(queue.size(), 3u);
}

TEST(FairQueue, LongestLineGivesItsNewestForOneWhoHasLess) {
  Queue queue(4);
  for (const char* value : {"a1", "a2", "a3", "a4"}) Push(queue, kAda, value);
  EXPECT_TRUE(queue.HasPlaceFor(kBob));
  EXPECT_EQ(Push(queue, kBob, "b1"), "a4");
  EXPECT_EQ(Push(queue, kBob, "b2"), "a3");
  EXPECT_THAT(PopAll(queue), ElementsAre("a1", "b1", "a2", "b2"));
}

TEST(FairQueue, EqualsDoNotTakeFromEachOther) {
  Queue queue(4);
  for (const char* value : {"a1", "a2"}) Push(queue, kAda, value);
  for (const char* value : {"b1", "b2"}) Push(queue, kBob, value);
  EXPECT_EQ(Push(queue, kAda, "a3"), "a3");
  EXPECT_EQ(Push(queue, kBob, "b3"), "b3");
  EXPECT_EQ(Push(queue, kCarl, "c1"), "a2");
  EXPECT_FALSE(queue.HasPlaceFor(kAda));  // It would take from bob, and he from her.
}

TEST(FairQueue, OldestOfAllIsKnownAndCanBeTakenOutOfTurn) {
  Queue queue(4);
  Push(queue, kAda, "a1", 1);
  Push(queue, kBob, "b1", 2);
  Push(queue, kAda, "a2", 3);
  EXPECT_EQ(queue.oldest_since(), At(1));
  EXPECT_EQ(queue.PopOldest().value, "a1");
  EXPECT_EQ(queue.oldest_since(), At(2));
  EXPECT_EQ(queue.PopOldest().value, "b1");
  EXPECT_EQ(queue.LengthOf(kAda), 1u);
  EXPECT_EQ(queue.LengthOf(kBob), 0u);
}

// Against a plain model, by a seed: every entry comes out once, lines keep their order, and no line that is not the
// longest loses anything.
TEST(FairQueue, BehavesAsItsModel) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SplitMix64 random(seed);
    Queue queue(1 + random.Next() % 12);
    std::map<ClientId, std::deque<std::string>> lines;
    for (int step = 0; step < 400; ++step) {
      const ClientId client{1 + random.Next() % 4};
      if (random.Next() % 5 < 3) {
        const std::string value = std::to_string(step);
        size_t longest = 0;
        for (const auto& [who, line] : lines) longest = std::max(longest, line.size());
        lines[client].push_back(value);
        if (const std::optional<Queue::Entry> dropped = queue.Push(client, value, At(step))) {
          std::deque<std::string>& loser = lines[dropped->client];
          EXPECT_TRUE(dropped->client == client || loser.size() == longest);
          EXPECT_EQ(dropped->value, loser.back());
          loser.pop_back();
        }
      } else if (!queue.empty()) {
        const Queue::Entry entry = queue.PopNext();
        ASSERT_FALSE(lines[entry.client].empty());
        EXPECT_EQ(entry.value, lines[entry.client].front());
        lines[entry.client].pop_front();
      }
      size_t size = 0;
      for (const auto& [who, line] : lines) {
        EXPECT_EQ(queue.LengthOf(who), line.size());
        size += line.size();
      }
      EXPECT_EQ(queue.size(), size);
      EXPECT_LE(size, queue.places());
    }
  }
}

}  // namespace
}  // namespace verbena::rpc
