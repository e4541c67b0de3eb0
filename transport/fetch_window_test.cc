#include "transport/fetch_window.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kBytesMax = 1024;

// Fetches that are named by a letter; what began, in order.
class FetchWindowTest : public testing::Test, protected FetchWindow::Fetcher {
 protected:
  void Begin(char name, uint64_t bytes) {
    const FetchWindow::Ticket ticket = window_.Enter(this, static_cast<uint64_t>(name), bytes, now_);
    if (ticket != FetchWindow::kNone) OnBegun(name, ticket);
  }
  void End(char name) { window_.Leave(tickets_[name], now_); }

  bool OnFetchTurn(uint64_t fetch_id, FetchWindow::Ticket ticket) override {
    const char name = static_cast<char>(fetch_id);
    if (unwanted_.find(name) != std::string::npos) return false;
    OnBegun(name, ticket);
    return true;
  }
  virtual void OnBegun(char name, FetchWindow::Ticket ticket) {
    begun_ += name;
    tickets_[name] = ticket;
  }

  FetchWindow window_{kBytesMax};
  absl::Time now_ = absl::UnixEpoch();
  std::string begun_;
  std::string unwanted_;
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

TEST_F(FetchWindowTest, WhatIsNotWantedAnyMoreIsPassedOver) {
  Begin('a', 512);
  Begin('b', 512);
  Begin('c', 512);
  Begin('d', 512);
  unwanted_ = "c";
  End('a');
  EXPECT_EQ(begun_, "abd");
  EXPECT_EQ(window_.waiting(), 0u);
}

TEST_F(FetchWindowTest, WhatWaitsIsForgottenWithItsFetcher) {
  struct Other : FetchWindow::Fetcher {
    bool OnFetchTurn(uint64_t, FetchWindow::Ticket) override {
      ADD_FAILURE() << "it has gone";
      return false;
    }
  } other;
  Begin('a', 512);
  Begin('b', 512);
  EXPECT_EQ(window_.Enter(&other, 1, 512, now_), FetchWindow::kNone);
  Begin('c', 512);
  EXPECT_EQ(window_.Enter(&other, 2, 100, now_), FetchWindow::kNone);
  window_.Forget(&other);
  End('a');
  EXPECT_EQ(begun_, "abc");
}

// One that finds no memory, and leaves while its turn is being told.
class LeavingFetchesTest : public FetchWindowTest {
 protected:
  void OnBegun(char name, FetchWindow::Ticket ticket) override {
    FetchWindowTest::OnBegun(name, ticket);
    if (name >= 'x') window_.Leave(ticket, now_);
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

// Fetches of all sizes, some of peers that never answer: whatever the seed, the window holds, and each begins, by the
// turns of those before it at the latest.
class ManyFetches : public testing::TestWithParam<uint32_t>, private FetchWindow::Fetcher {
 protected:
  static constexpr uint64_t kFetches = 2000;
  static constexpr uint64_t kWaitingMost = 100;

  void Step() {
    now_ += absl::Microseconds(Random(200));
    if (const auto time = window_.NextTime(); time.has_value() && *time <= now_) window_.OnTime(now_);
    if (asked_.size() < kFetches && window_.waiting() < kWaitingMost) BeginOne();
    if (!under_way_.empty() && Random(3) != 0) EndOne();
    Check();
  }
  bool done() const { return begun_ == kFetches && under_way_.empty(); }

 private:
  struct Asked {
    uint64_t counted;
    bool begun = false;
    uint64_t begun_before;  // So many, when it asked.
    uint64_t waiting;       // The same.
  };
  struct Fetch {
    FetchWindow::Ticket ticket;
    uint64_t counted;
    absl::Time until;  // Out of the window then.
  };

  uint64_t Random(uint64_t below) { return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_); }

  void BeginOne() {
    const uint64_t bytes = 1 + Random(uint64_t{1} << (1 + Random(11)));
    const uint64_t id = asked_.size();
    asked_.push_back(Asked{std::min(bytes, kBytesMax / 2), false, begun_, window_.waiting()});
    const FetchWindow::Ticket ticket = window_.Enter(this, id, bytes, now_);
    if (ticket != FetchWindow::kNone) OnFetchTurn(id, ticket);
  }
  void EndOne() {
    const size_t index = Random(under_way_.size());
    const Fetch fetch = under_way_[index];
    under_way_.erase(under_way_.begin() + static_cast<ptrdiff_t>(index));
    window_.Leave(fetch.ticket, now_);
  }
  bool OnFetchTurn(uint64_t id, FetchWindow::Ticket ticket) override {
    Asked& asked = asked_[id];
    EXPECT_FALSE(asked.begun);
    asked.begun = true;
    EXPECT_LE(begun_ - asked.begun_before, FetchWindow::kOldestsTurn * (asked.waiting + 1)) << "it was overtaken";
    ++begun_;
    const bool silent = Random(20) == 0;
    (silent ? silent_ : under_way_).push_back(Fetch{ticket, asked.counted, now_ + FetchWindow::kPatience});
    return true;
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
  FetchWindow window_{kBytesMax};
  absl::Time now_ = absl::UnixEpoch();
  std::vector<Asked> asked_;  // By id.
  uint64_t begun_ = 0;
  std::vector<Fetch> under_way_;
  std::vector<Fetch> silent_;
};

TEST_P(ManyFetches, EachBeginsAndTheWindowHolds) {
  for (uint64_t steps = 0; !done() && steps < 100 * kFetches; ++steps) Step();
  EXPECT_TRUE(done());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ManyFetches, testing::Range(0u, 20u));

}  // namespace
}  // namespace verbena::transport
