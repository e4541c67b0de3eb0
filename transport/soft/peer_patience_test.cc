#include "transport/soft/peer_patience.h"

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Verdict = PeerPatience::Verdict;

class PeerPatienceTest : public testing::Test {
 protected:
  // Looks as often as it wants to be looked at, for `duration`; how many probes that made, or -1 if it gave up.
  int LookFor(milliseconds duration) {
    int probes = 0;
    for (auto end = now_ + duration; now_ < end; now_ = patience_.next_look()) {
      Verdict verdict = patience_.Look(signs_, now_);
      if (verdict == Verdict::kGiveUp) return -1;
      if (verdict == Verdict::kProbe) ++probes;
      if (verdict == Verdict::kProbe && answers_) ++signs_.answer;
    }
    return probes;
  }

  PeerPatience patience_;
  PeerPatience::Signs signs_;
  PeerPatience::Clock::time_point now_{};
  bool answers_ = false;
};

TEST_F(PeerPatienceTest, SilentPeerIsGivenUpAfterTheConfiguredTime) {
  patience_.Configure(14, 7);  // 67 ms, eight times: 537 ms.
  EXPECT_GT(LookFor(milliseconds(500)), 0);
  EXPECT_EQ(LookFor(milliseconds(300)), -1);
}

TEST_F(PeerPatienceTest, TimeoutZeroWaitsForEver) {
  patience_.Configure(0, 7);
  EXPECT_GT(LookFor(std::chrono::hours(1)), 0);
}

TEST_F(PeerPatienceTest, PeerThatAnswersButDoesNotGetOnIsWaitedFor) {
  patience_.Configure(14, 0);
  answers_ = true;
  EXPECT_GT(LookFor(std::chrono::minutes(1)), 0);
}

TEST_F(PeerPatienceTest, PeerThatGetsOnIsNotProbed) {
  patience_.Configure(14, 0);
  for (int i = 0; i < 1000; ++i) {
    ++signs_.progress;
    EXPECT_EQ(patience_.Look(signs_, now_), Verdict::kWait);
    now_ += milliseconds(50);
  }
}

TEST_F(PeerPatienceTest, ClosedPeerIsGivenUpAfterTheConfiguredTime) {
  patience_.Configure(14, 2);  // 67 ms, three times: 201 ms.
  signs_.closed = true;
  EXPECT_GT(LookFor(milliseconds(190)), 0);
  EXPECT_EQ(LookFor(milliseconds(100)), -1);
}

TEST_F(PeerPatienceTest, ClosedPeerIsGivenUpAfterHalfASecondThoughTimeoutZeroIsForEver) {
  patience_.Configure(0, 7);
  signs_.closed = true;
  EXPECT_GT(LookFor(milliseconds(490)), 0);
  EXPECT_EQ(LookFor(milliseconds(200)), -1);
}

TEST_F(PeerPatienceTest, TimeOfAClosedPeerBeginsWhenItsEndIsSeen) {
  patience_.Configure(19, 7);  // 17 s.
  EXPECT_GT(LookFor(milliseconds(5000)), 0);
  signs_.closed = true;
  EXPECT_GT(LookFor(milliseconds(490)), 0);
  EXPECT_EQ(LookFor(milliseconds(200)), -1);
}

TEST_F(PeerPatienceTest, ClosedPeerGainsNoTimeByOtherSigns) {
  patience_.Configure(0, 7);
  signs_.closed = true;
  for (int looks = 0; looks < 1000 && LookFor(milliseconds(1)) != -1; ++looks) {
    ++signs_.progress;
    ++signs_.answer;
    signs_.closed = !signs_.closed;
  }
  EXPECT_GE(now_.time_since_epoch(), milliseconds(500));
  EXPECT_LE(now_.time_since_epoch(), milliseconds(630));
}

TEST_F(PeerPatienceTest, WaiterThatDidNotRunItselfLooksMoreThanOnceAtAClosedPeer) {
  patience_.Configure(14, 7);
  signs_.closed = true;
  for (int look = 0; look < 4; ++look) {
    EXPECT_NE(patience_.Look(signs_, now_), Verdict::kGiveUp);
    now_ += std::chrono::hours(1);
  }
  EXPECT_EQ(patience_.Look(signs_, now_), Verdict::kGiveUp);
}

TEST_F(PeerPatienceTest, ProbesBecomeRare) {
  patience_.Configure(0, 7);
  EXPECT_GE(LookFor(milliseconds(10)), 2);
  LookFor(milliseconds(1000));
  EXPECT_LE(LookFor(milliseconds(1000)), 11);
}

TEST_F(PeerPatienceTest, WaiterThatDidNotRunItselfProbesFirst) {
  patience_.Configure(14, 7);
  EXPECT_EQ(patience_.Look(signs_, now_), Verdict::kWait);
  now_ += std::chrono::hours(1);
  EXPECT_EQ(patience_.Look(signs_, now_), Verdict::kProbe);
  ++signs_.answer;
  now_ = patience_.next_look();
  EXPECT_EQ(patience_.Look(signs_, now_), Verdict::kProbe);
}

TEST_F(PeerPatienceTest, RestBeginsAfresh) {
  patience_.Configure(14, 7);
  LookFor(milliseconds(500));
  patience_.Rest();
  EXPECT_GT(LookFor(milliseconds(500)), 0);
}

}  // namespace
}  // namespace verbena::soft
