#include "transport/log.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace verbena {
namespace {

TEST(Log, ASinkReceivesEveryLineUntilItIsReplaced) {
  std::vector<std::string> lines;
  SetLogSink([&](Severity, absl::string_view text) { lines.emplace_back(text); });
  Log(Severity::kInfo, "listening");
  Log(Severity::kError, "device lost");
  SetLogSink({});
  testing::internal::CaptureStderr();
  Log(Severity::kWarning, "to standard error");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("warning verbena: to standard error\n"), std::string::npos);
  EXPECT_EQ(lines, (std::vector<std::string>{"listening", "device lost"}));
}

}  // namespace
}  // namespace verbena
