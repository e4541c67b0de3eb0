#include "tests/chaos/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace verbena::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kToken = MakeToken(1, 1);
const absl::Time kBegun = absl::FromUnixSeconds(1000);

// One call of one client, that one server has executed so many times.
class VerdictTest : public ::testing::Test {
 protected:
  VerdictTest() {
    client_.name = "client-1";
    client_.begun = {{kToken, kBegun, kBegun + absl::Seconds(5), false, "unary"}};
    rules_.lateness_max = absl::Seconds(10);
  }
  void End(Outcome outcome, absl::StatusCode code, absl::Duration after = absl::Seconds(1)) {
    client_.ended.push_back({kToken, kBegun + after, outcome, code, "in words"});
  }
  std::vector<std::string> JudgeExecuted(size_t times) {
    return Judge({client_}, {{"server-1", std::vector<uint64_t>(times, kToken)}}, rules_, &tally_);
  }

  ClientLedger client_;
  Rules rules_;
  Tally tally_;
};

TEST_F(VerdictTest, OkIsExecutedOnce) {
  End(Outcome::kOk, absl::StatusCode::kOk);
  EXPECT_THAT(JudgeExecuted(1), IsEmpty());
  EXPECT_THAT(JudgeExecuted(0), ElementsAre(HasSubstr("told OK (in words) and executed 0 times, by nobody")));
  EXPECT_THAT(JudgeExecuted(2), ElementsAre(HasSubstr("executed 2 times, by server-1 server-1")));
}

TEST_F(VerdictTest, NotSentIsExecutedNever) {
  End(Outcome::kNotSent, absl::StatusCode::kUnavailable);
  EXPECT_THAT(JudgeExecuted(0), IsEmpty());
  EXPECT_THAT(JudgeExecuted(1), ElementsAre(HasSubstr("told not sent (in words) and executed 1 times")));
}

TEST_F(VerdictTest, UnknownIsExecutedAtMostOnce) {
  End(Outcome::kUnknown, absl::StatusCode::kUnavailable);
  EXPECT_THAT(JudgeExecuted(0), IsEmpty());
  EXPECT_THAT(JudgeExecuted(1), IsEmpty());
  EXPECT_THAT(JudgeExecuted(2), ElementsAre(HasSubstr("told outcome unknown")));
}

TEST_F(VerdictTest, HandlersOwnStatusIsExecutedOnceAndNeverThatBytesWereWrong) {
  End(Outcome::kExecuted, absl::StatusCode::kCancelled);
  EXPECT_THAT(JudgeExecuted(1), IsEmpty());
  EXPECT_THAT(JudgeExecuted(0), ElementsAre(HasSubstr("told executed")));
  client_.ended[0].code = absl::StatusCode::kDataLoss;
  EXPECT_THAT(JudgeExecuted(1), ElementsAre(HasSubstr("told executed")));
}

TEST_F(VerdictTest, WrongBytesAreBroken) {
  End(Outcome::kWrongBytes, absl::StatusCode::kOk);
  EXPECT_THAT(JudgeExecuted(1), ElementsAre(HasSubstr("wrong bytes")));
}

TEST_F(VerdictTest, CallWithoutEndIsBrokenUnlessItsClientWasKilled) {
  EXPECT_THAT(JudgeExecuted(1), ElementsAre(HasSubstr("never completed")));
  client_.killed = true;
  EXPECT_THAT(JudgeExecuted(1), IsEmpty());
  EXPECT_THAT(JudgeExecuted(2), ElementsAre(HasSubstr("executed 2 times")));
}

TEST_F(VerdictTest, CallThatCompletesTwiceIsBroken) {
  End(Outcome::kOk, absl::StatusCode::kOk);
  End(Outcome::kOk, absl::StatusCode::kOk);
  EXPECT_THAT(JudgeExecuted(1), ElementsAre(HasSubstr("completed 2 times")));
}

TEST_F(VerdictTest, CallThatIsTooLateIsBroken) {
  End(Outcome::kNotSent, absl::StatusCode::kDeadlineExceeded, absl::Seconds(15));
  EXPECT_THAT(JudgeExecuted(0), IsEmpty());
  client_.ended[0].ended += absl::Seconds(1);
  EXPECT_THAT(JudgeExecuted(0), ElementsAre(HasSubstr("completed 11s past its deadline")));
}

TEST_F(VerdictTest, CallOfNobodyIsBroken) {
  client_.begun.clear();
  EXPECT_THAT(JudgeExecuted(1), ElementsAre(HasSubstr("begun by nobody")));
  End(Outcome::kOk, absl::StatusCode::kOk);
  EXPECT_THAT(JudgeExecuted(0), ElementsAre(HasSubstr("never begun")));
}

TEST_F(VerdictTest, InCalmTimesACallFailsOfItsOwnCancelOrDeadlineAlone) {
  rules_.calm = {{kBegun, kBegun + absl::Seconds(6)}};
  End(Outcome::kNotSent, absl::StatusCode::kUnavailable);
  EXPECT_THAT(JudgeExecuted(0), ElementsAre(HasSubstr("no more than drain")));
  client_.ended[0].code = absl::StatusCode::kDeadlineExceeded;
  EXPECT_THAT(JudgeExecuted(0), ElementsAre(HasSubstr("no more than drain")));
  client_.ended[0].ended = kBegun + absl::Seconds(5);
  EXPECT_THAT(JudgeExecuted(0), IsEmpty());
  client_.ended[0].code = absl::StatusCode::kCancelled;
  client_.begun[0].cancelled = true;
  EXPECT_THAT(JudgeExecuted(0), IsEmpty());
  EXPECT_EQ(tally_.in_calm, 4u);
}

TEST_F(VerdictTest, DeadlineOfAClockThatIsAheadIsTheCallsOwn) {
  rules_.calm = {{kBegun, kBegun + absl::Seconds(6)}};
  rules_.earliness_max = absl::Milliseconds(100);
  End(Outcome::kNotSent, absl::StatusCode::kDeadlineExceeded, absl::Milliseconds(4900));
  EXPECT_THAT(JudgeExecuted(0), IsEmpty());
  client_.ended[0].ended -= absl::Milliseconds(1);
  EXPECT_THAT(JudgeExecuted(0), ElementsAre(HasSubstr("no more than drain")));
}

TEST_F(VerdictTest, CallThatReachesOutOfACalmTimeMayFail) {
  rules_.calm = {{kBegun + absl::Milliseconds(1), kBegun + absl::Seconds(6)}};
  End(Outcome::kNotSent, absl::StatusCode::kUnavailable);
  EXPECT_THAT(JudgeExecuted(0), IsEmpty());
}

}  // namespace
}  // namespace verbena::chaos
