#include "examples/filecopy/progress_bar.h"

#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

TEST(RenderProgress, HalfwayShowsHalfABarAndTheRate) {
  EXPECT_EQ(RenderProgress(512 << 10, 1 << 20, absl::Seconds(2)),
            "[####################                    ]  50 %  512.0 KiB of 1.0 MiB  256.0 KiB/s");
}

TEST(RenderProgress, WhatWasThereBeforeIsNotInTheRate) {
  const std::string bar = RenderProgress(768 << 10, 1 << 20, absl::Seconds(2), 512 << 10);
  EXPECT_NE(bar.find("128.0 KiB/s"), std::string::npos) << bar;
}

TEST(RenderProgress, EmptyFileIsDone) {
  EXPECT_EQ(RenderProgress(0, 0, absl::ZeroDuration()),
            "[########################################] 100 %  0 B of 0 B  ");
}

TEST(RenderProgress, AlmostDoneIsNotDone) {
  const std::string bar = RenderProgress(999, 1000, absl::Seconds(1));
  EXPECT_NE(bar.find(" 99 %"), std::string::npos) << bar;
  EXPECT_NE(bar.find("# ]"), std::string::npos) << bar;
}

TEST(FormatBytes, UnitsChangeAtPowersOf1024) {
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(3.0 * (1 << 30)), "3.0 GiB");
  EXPECT_EQ(FormatBytes(5e18), "4547473.5 TiB");
}

}  // namespace
}  // namespace verbena::examples
