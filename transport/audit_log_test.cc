#include "transport/audit_log.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/log.h"

namespace verbena::transport {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() {
    SetLogSink([this](Severity, absl::string_view text) { lines_.emplace_back(text); });
  }
  ~AuditLogTest() override { SetLogSink({}); }

  void Refuse(int times, absl::string_view what = "a call") {
    for (int i = 0; i < times; ++i) log_.Refused(what, absl::PermissionDeniedError("not for you"), now_);
  }

  AuditLog log_;
  absl::Time now_ = absl::UnixEpoch();
  std::vector<std::string> lines_;
};

TEST_F(AuditLogTest, ARefusalIsOneLineWithItsReason) {
  Refuse(1, "a call of A/B by \"alice\"");
  EXPECT_THAT(lines_,
              testing::ElementsAre("a call of A/B by \\\"alice\\\" was refused: PERMISSION_DENIED: not for you"));
}

TEST_F(AuditLogTest, AFloodIsCutAndTheNextLineSaysBySoMuch) {
  Refuse(1000);
  EXPECT_THAT(lines_, SizeIs(AuditLog::kLinesAtOnceMax));
  now_ += AuditLog::kLineInterval;
  Refuse(2);
  ASSERT_THAT(lines_, SizeIs(AuditLog::kLinesAtOnceMax + 1));
  EXPECT_THAT(lines_.back(), HasSubstr("(and 980 refusals before it"));
}

TEST_F(AuditLogTest, AfterSilenceThereIsRoomForABurstAndNoMore) {
  Refuse(1000);
  lines_.clear();
  now_ += absl::Hours(1);
  Refuse(1000);
  EXPECT_THAT(lines_, SizeIs(AuditLog::kLinesAtOnceMax));
}

TEST_F(AuditLogTest, AClockBehindAnotherLoopsGivesNoLines) {
  Refuse(1000);
  lines_.clear();
  now_ -= absl::Seconds(5);
  Refuse(10);
  EXPECT_THAT(lines_, SizeIs(0));
}

TEST_F(AuditLogTest, WhatAPeerSaysCannotForgeALine) {
  Refuse(1, "\nfake line\x1b[2J");
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("\\nfake line\\x1b[2J"));
}

TEST_F(AuditLogTest, LongWordsAreCut) {
  Refuse(1, std::string(10000, 'x'));
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_LT(lines_[0].size(), 700u);
}

}  // namespace
}  // namespace verbena::transport
