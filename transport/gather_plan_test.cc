#include "transport/gather_plan.h"

#include <cstddef>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/device_regions.h"

namespace verbena::transport {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr GatherLimits kAmple = {.in_place_max = 100, .segments_max = 100};

// Pieces of these sizes, negative ones of ordinary memory.
class GatherPlan : public testing::Test {
 protected:
  std::vector<GatherPiece> Pieces(const std::vector<int>& sizes) {
    std::vector<GatherPiece> pieces;
    for (const int size : sizes) {
      const auto bytes = absl::MakeConstSpan(bytes_.data(), static_cast<size_t>(size < 0 ? -size : size));
      pieces.push_back({bytes, size < 0 ? nullptr : &regions_});
    }
    return pieces;
  }
  // Which pieces stay, by `limits`.
  std::vector<bool> Stay(const std::vector<int>& sizes, const GatherLimits& limits) {
    std::vector<GatherPiece> pieces = Pieces(sizes);
    FitToLimits(limits, &pieces);
    EXPECT_LE(SegmentsOf(pieces), limits.segments_max);
    std::vector<bool> stay;
    for (const GatherPiece& piece : pieces) stay.push_back(piece.regions != nullptr);
    return stay;
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(1000);
  DeviceRegions regions_{absl::MakeSpan(bytes_), DeviceRegions::Use::kSend};
};

TEST_F(GatherPlan, NeighboursThatAreCopiedAreOneSegment) {
  EXPECT_EQ(SegmentsOf({}), 1u);
  EXPECT_EQ(SegmentsOf(Pieces({-1, -2})), 1u);
  EXPECT_EQ(SegmentsOf(Pieces({1, 2})), 3u);
  EXPECT_EQ(SegmentsOf(Pieces({-1, 2, -3, -4, 5, -6})), 5u);
}

TEST_F(GatherPlan, WithinTheLimitsAllStay) {
  EXPECT_THAT(Stay({1, -2, 3}, kAmple), ElementsAre(true, false, true));
  EXPECT_THAT(Stay({1, 2, 3}, {.in_place_max = 3, .segments_max = 4}), Each(true));
}

TEST_F(GatherPlan, PastThePiecesTheSmallestAreCopied) {
  EXPECT_THAT(Stay({5, 1, 4, -9, 2, 3}, {.in_place_max = 3, .segments_max = 100}),
              ElementsAre(true, false, true, false, false, true));
}

TEST_F(GatherPlan, OfEqualOnesTheLastAreCopied) {
  EXPECT_THAT(Stay({7, 7, 7}, {.in_place_max = 2, .segments_max = 100}), ElementsAre(true, true, false));
}

TEST_F(GatherPlan, PastTheSegmentsTheSmallestAreCopiedUntilTheRestFits) {
  // 1 + 3 in place + 2 copied runs between and behind them.
  EXPECT_THAT(Stay({5, -1, 4, -1, 3}, {.in_place_max = 100, .segments_max = 6}),
              ElementsAre(true, false, true, false, true));
  EXPECT_THAT(Stay({5, -1, 4, -1, 3}, {.in_place_max = 100, .segments_max = 5}),
              ElementsAre(true, false, true, false, false));
  // Alone between others, a copied piece saves nothing.
  EXPECT_THAT(Stay({5, 1, 4}, {.in_place_max = 100, .segments_max = 3}), ElementsAre(true, false, false));
}

TEST_F(GatherPlan, OneSegmentIsAllCopied) {
  EXPECT_THAT(Stay({5, -1, 4, 3}, {.in_place_max = 100, .segments_max = 1}), Each(false));
}

}  // namespace
}  // namespace verbena::transport
