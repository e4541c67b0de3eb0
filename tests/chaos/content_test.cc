#include "tests/chaos/content.h"

#include "gtest/gtest.h"

namespace verbena::chaos {
namespace {

TEST(Content, IsTheSameAtBothEnds) {
  EXPECT_EQ(Content(7, Part::kReply, 3, 1001), Content(7, Part::kReply, 3, 1001));
  EXPECT_EQ(Content(7, Part::kReply, 3, 1001).size(), 1001u);
}

TEST(Content, IsAnotherForEachCallAndPartAndIndex) {
  const std::string content = Content(7, Part::kReply, 3, 16);
  EXPECT_NE(content, Content(8, Part::kReply, 3, 16));
  EXPECT_NE(content, Content(7, Part::kRequest, 3, 16));
  EXPECT_NE(content, Content(7, Part::kReply, 4, 16));
}

}  // namespace
}  // namespace verbena::chaos
