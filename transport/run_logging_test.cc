#include "transport/run_logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace verbena {
namespace {

class RunLoggingTest : public ::testing::Test {
 protected:
  RunLoggingTest() {
    SetLogSink([this](Severity severity, absl::string_view text) {
      EXPECT_EQ(severity, Severity::kWarning);
      lines_.emplace_back(text);
    });
  }
  ~RunLoggingTest() override { SetLogSink({}); }

  std::vector<std::string> lines_;
};

TEST_F(RunLoggingTest, WorkThatReturnsLogsNothing) {
  bool ran = false;
  RunLogging("the call-back", [&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_THAT(lines_, ::testing::IsEmpty());
}

TEST_F(RunLoggingTest, WhatIsThrownIsALineThatSaysWhoThrewWhat) {
  RunLogging("the call-back", [] { throw std::runtime_error("out of luck"); });
  RunLogging("the call-back", [] { throw 7; });
  EXPECT_THAT(lines_, ::testing::ElementsAre("the call-back threw: out of luck",
                                             "the call-back threw something that is no std::exception"));
}

}  // namespace
}  // namespace verbena
