#include "transport/export_holders.h"

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();
const absl::Time kLater = kStart + absl::Seconds(1);

TEST(ExportHolders, WithoutExportsNobodyIsStalled) { EXPECT_FALSE(ExportHolders().MostStalled(kLater).has_value()); }

TEST(ExportHolders, TheOneThatHoldsMostIsNamed) {
  ExportHolders holders;
  holders.OnExported(1, 100, kStart);
  holders.OnExported(2, 90, kStart);
  holders.OnExported(2, 90, kStart);
  holders.OnExported(3, 120, kStart);
  ASSERT_TRUE(holders.MostStalled(kStart).has_value());
  EXPECT_EQ(holders.MostStalled(kStart)->link, 2u);
  EXPECT_EQ(holders.MostStalled(kStart)->bytes, 180u);
}

TEST(ExportHolders, WhoFinishedSomethingSinceIsSpared) {
  ExportHolders holders;
  holders.OnExported(1, 100, kStart);
  holders.OnExported(2, 200, kStart);
  holders.OnReleased(2, 50, kLater);
  EXPECT_EQ(holders.MostStalled(kStart)->link, 1u);
  EXPECT_EQ(holders.MostStalled(kLater)->link, 2u);
}

TEST(ExportHolders, AnotherExportIsNoProgress) {
  ExportHolders holders;
  holders.OnExported(1, 100, kStart);
  holders.OnExported(1, 100, kLater);
  EXPECT_TRUE(holders.MostStalled(kStart).has_value());
}

TEST(ExportHolders, WhoHasReleasedAllIsForgotten) {
  ExportHolders holders;
  holders.OnExported(1, 100, kStart);
  holders.OnReleased(1, 100, kStart);
  EXPECT_FALSE(holders.MostStalled(kLater).has_value());
  holders.OnExported(1, 100, kLater);  // Its time begins anew.
  EXPECT_FALSE(holders.MostStalled(kStart).has_value());
}

}  // namespace
}  // namespace verbena::transport
