#include "transport/fetch_window.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kBytesMax = 1024;

// Fetches that are named by a letter; what began, in order.
class FetchWindowTest : public testing::Test, protected FetchWindow::Fetcher {
 protected:
  // `like`: it waits among messages of that length.
  void Begin(char name, uint64_t bytes, uint64_t like = 0) {
    const FetchWindow::Entry entry =
        window_.Enter(this, static_cast<uint64_t>(name), bytes, std::max(bytes, like), now_);
    tickets_[name] = entry.ticket;
    if (entry.begins) OnFetchTurn(static_cast<uint64_t>(name));
  }
  void End(char name) { window_.Leave(tickets_[name], now_); }

  void OnFetchTurn(uint64_t fetch_id) override { begun_ += static_cast<char>(fetch_id); }

  FetchWindow window_{kBytesMax};
  absl::Time now_ = absl::UnixEpoch();
  std::string begun_;
  std::map<char, FetchWindow::Ticket> tickets_;
};

TEST_F(FetchWindowTest, WhatFitsBeginsAtOnce) {
  Begin('a', 500);
  Begin('b', 500);
  EXPECT_EQ(begun_, "ab");
  EXPECT_EQ(window_.bytes(), 1000u);
}

TEST_F(FetchWindowTest, WhatDoesNotFitBeginsWhenOthersHaveLeft) {
  Begin('a', 500);
  Begin('b', 500);
  Begin('c', 500);
  EXPECT_EQ(begun_, "ab");
  End('b');
  EXPECT_EQ(begun_, "abc");
  End('a');
  End('c');
  EXPECT_EQ(window_.bytes(), 0u);
}

TEST_F(FetchWindowTest, OfLongOnesTwoAreAlwaysUnderWay) {
  Begin('a', 1 << 30);
  Begin('b', 1 << 30);
  Begin('c', 1 << 30);
  EXPECT_EQ(begun_, "ab");
  End('a');
  EXPECT_EQ(begun_, "abc");
}

TEST_F(FetchWindowTest, ASmallOneGoesBeforeLargeOnesThatWait) {
  Begin('a', 512);
  Begin('b', 500);
  Begin('c', 512);
  Begin('d', 300);
  Begin('e', 40);
  Begin('f', 10);  // There is room for this one.
  EXPECT_EQ(begun_, "abf");
  End('b');
  EXPECT_EQ(begun_, "abfed");
}

TEST_F(FetchWindowTest, OfOneSizeTheFirstComesFirst) {
  Begin('a', 512);
  Begin('b', 512);
  Begin('c', 400);
  Begin('d', 300);  // As large, by powers of two.
  End('a');
  EXPECT_EQ(begun_, "abc");
}

TEST_F(FetchWindowTest, ALargeOneIsNotOvertakenForEver) {
  Begin('a', 400);
  Begin('b', 400);
  Begin('L', 512);
  for (int i = 0; i < 2 * static_cast<int>(FetchWindow::kOldestsTurn) && begun_.find('L') == std::string::npos; ++i) {
    Begin(static_cast<char>('m' + i), 200);
    End(begun_.back());
  }
  // The small ones find room beside a and b each time; when it is the oldest's turn, none does before it.
  EXPECT_EQ(begun_.find('L'), std::string::npos);
  EXPECT_LT(begun_.size(), 1 + FetchWindow::kOldestsTurn);
  End('a');
  EXPECT_NE(begun_.find('L'), std::string::npos);
}

TEST_F(FetchWindowTest, WhoTakesTooLongHoldsUpNobodyAnyMore) {
  Begin('a', 512);
  now_ += FetchWindow::kPatience / 2;
  Begin('b', 512);
  Begin('c', 512);
  Begin('d', 512);
  ASSERT_TRUE(window_.NextTime().has_value());
  now_ = *window_.NextTime();
  window_.OnTime(now_);
  EXPECT_EQ(begun_, "abc");
  EXPECT_EQ(*window_.NextTime() - now_, FetchWindow::kPatience / 2);
  End('a');  // Landed in the end: it has left long since.
  EXPECT_EQ(begun_, "abc");
  End('b');
  EXPECT_EQ(begun_, "abcd");
  EXPECT_EQ(window_.NextTime(), std::nullopt) << "nobody waits";
}

TEST_F(FetchWindowTest, WhoeverComesSeesThatTheOthersHaveTakenTooLong) {
  Begin('a', 512);
  Begin('b', 512);
  now_ += FetchWindow::kPatience;
  Begin('c', 512);
  EXPECT_EQ(begun_, "abc");
  EXPECT_EQ(window_.bytes(), 512u);
}

TEST_F(FetchWindowTest, WhoWaitsMayLeaveAndHoldsUpNobody) {
  Begin('a', 512);
  Begin('b', 300);
  Begin('c', 512);
  Begin('d', 300);
  End('d');
  End('c');
  EXPECT_EQ(window_.waiting(), 0u);
  Begin('e', 200);
  EXPECT_EQ(begun_, "abe");
}

TEST_F(FetchWindowTest, WhenTheOneForWhichRoomIsKeptLeavesTheOthersBegin) {
  Begin('a', 500);
  Begin('b', 500);
  Begin('L', 512);
  for (const char* next = "cdefg"; *next != 0; ++next) {  // In the little room that there is, one after another.
    Begin(*next, 10);
    End(*next);
  }
  EXPECT_EQ(begun_, "abcdefg");
  Begin('h', 10);  // The oldest's turn.
  EXPECT_EQ(begun_, "abcdefg");
  End('L');
  EXPECT_EQ(begun_, "abcdefgh");
}

TEST_F(FetchWindowTest, ASmallOneThatMustNotGoBeforeALargeOneWaitsBehindIt) {
  Begin('a', 512);
  Begin('b', 512);
  Begin('c', 512);
  Begin('d', 10, /*like=*/512);
  Begin('e', 20);
  End('a');
  EXPECT_EQ(begun_, "abe");
  End('e');
  EXPECT_EQ(begun_, "abec");
  End('b');
  EXPECT_EQ(begun_, "abecd");
  EXPECT_EQ(window_.bytes(), 522u) << "it counts what it is";
}

TEST_F(FetchWindowTest, LeavingTwiceOrWithoutATicketIsNothing) {
  window_.Leave(FetchWindow::kNone, now_);
  Begin('a', 512);
  End('a');
  Begin('b', 512);
  End('a');
  EXPECT_EQ(window_.bytes(), 512u);
}

TEST(FetchWindow, OfAnOddWindowTwoAreUnderWayAsWell) {
  struct Nobody : FetchWindow::Fetcher {
    void OnFetchTurn(uint64_t) override {}
  } nobody;
  for (const uint64_t bytes_max : {1, 1023}) {
    FetchWindow window(bytes_max);
    for (const bool begins : {true, true, false}) {
      EXPECT_EQ(window.Enter(&nobody, 1, 1 << 20, 1 << 20, absl::UnixEpoch()).begins, begins) << bytes_max;
    }
  }
}

// One that finds no memory, and leaves while its turn is being told.
class LeavingFetchesTest : public FetchWindowTest {
 protected:
  void OnFetchTurn(uint64_t fetch_id) override {
    FetchWindowTest::OnFetchTurn(fetch_id);
    if (begun_.back() >= 'x') End(begun_.back());
  }
};

TEST_F(LeavingFetchesTest, WhoLeavesAtOnceMakesRoomForTheNext) {
  Begin('a', 512);
  Begin('b', 512);
  Begin('x', 512);
  Begin('y', 512);
  Begin('c', 512);
  End('a');
  EXPECT_EQ(begun_, "abxyc");
  EXPECT_EQ(window_.bytes(), 1024u);
}

// Fetches of all sizes, some given up while they wait or as their turn comes, some of peers that never answer: whatever
// the seed, the window holds, and each begins, by the turns of those before it at the latest.
class ManyFetches : public testing::TestWithParam<uint32_t>, private FetchWindow::Fetcher {
 protected:
  static constexpr uint64_t kFetches = 2000;
  static constexpr uint64_t kWaitingMost = 100;

  void Step() {
    now_ += absl::Microseconds(Random(200));
    if (const auto time = window_.NextTime(); time.has_value() && *time <= now_) window_.OnTime(now_);
    if (asked_.size() < kFetches && window_.waiting() < kWaitingMost) Ask();
    const uint64_t id = asked_.empty() ? 0 : Random(asked_.size());
    if (!asked_.empty() && Random(20) == 0) GiveUp(id);
    if (!under_way_.empty() && Random(3) != 0) EndOne();
    Check();
  }
  bool done() const { return asked_.size() == kFetches && under_way_.empty() && window_.waiting() == 0; }
  void LetAllTimePass() { window_.OnTime(now_ += FetchWindow::kPatience); }

  FetchWindow window_{kBytesMax};

 private:
  struct Asked {
    FetchWindow::Ticket ticket = FetchWindow::kNone;
    uint64_t counted = 0;
    uint64_t turns_before = 0;  // So many, when it asked.
    uint64_t waiting = 0;       // The same.
    bool over = false;          // Begun or given up.
  };
  struct Fetch {
    FetchWindow::Ticket ticket;
    uint64_t counted;
    absl::Time until;  // Out of the window then.
  };

  uint64_t Random(uint64_t below) { return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_); }

  void Ask() {
    const uint64_t bytes = 1 + Random(uint64_t{1} << (1 + Random(11)));
    const uint64_t id = asked_.size();
    asked_.push_back({.counted = std::min(bytes, kBytesMax / 2), .waiting = window_.waiting()});
    window_.OnTime(now_);
    asked_[id].turns_before = turns_;
    const FetchWindow::Entry entry = window_.Enter(this, id, bytes, bytes, now_);
    asked_[id].ticket = entry.ticket;
    if (entry.begins) OnFetchTurn(id);
  }
  void GiveUp(uint64_t id) {
    if (std::exchange(asked_[id].over, true)) return;
    window_.Leave(asked_[id].ticket, now_);
  }
  void EndOne() {
    const size_t index = Random(under_way_.size());
    const Fetch fetch = under_way_[index];
    under_way_.erase(under_way_.begin() + static_cast<ptrdiff_t>(index));
    window_.Leave(fetch.ticket, now_);
  }
  void OnFetchTurn(uint64_t id) override {
    Asked& asked = asked_[id];
    EXPECT_FALSE(std::exchange(asked.over, true));
    EXPECT_LE(turns_ - asked.turns_before, FetchWindow::kOldestsTurn * (asked.waiting + 1)) << "it was overtaken";
    ++turns_;
    if (Random(20) == 0) return window_.Leave(asked.ticket, now_);  // It finds no memory.
    const bool silent = Random(20) == 0;
    (silent ? silent_ : under_way_).push_back(Fetch{asked.ticket, asked.counted, now_ + FetchWindow::kPatience});
  }
  void Check() {
    uint64_t inside = 0;
    for (const auto& fetches : {under_way_, silent_}) {
      for (const Fetch& fetch : fetches) inside += fetch.until > now_ ? fetch.counted : 0;
    }
    EXPECT_LE(inside, kBytesMax);
    EXPECT_GE(window_.bytes(), inside) << "more may be: what has taken too long is dropped when somebody comes";
    EXPECT_TRUE(window_.waiting() == 0 || window_.NextTime().has_value()) << "somebody waits, and nobody looks";
  }

  std::mt19937 random_{GetParam()};
  absl::Time now_ = absl::UnixEpoch();
  std::vector<Asked> asked_;  // By id.
  uint64_t turns_ = 0;
  std::vector<Fetch> under_way_;
  std::vector<Fetch> silent_;
};

TEST_P(ManyFetches, EachBeginsAndTheWindowHolds) {
  for (uint64_t steps = 0; !done() && steps < 100 * kFetches; ++steps) Step();
  EXPECT_TRUE(done());
  LetAllTimePass();
  EXPECT_EQ(window_.bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ManyFetches, testing::Range(0u, 20u));

}  // namespace
}  // namespace verbena::transport
