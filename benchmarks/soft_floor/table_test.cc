#include "benchmarks/soft_floor/table.h"

#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

using Budget = Row::Budget;

TEST(Row, IsJudgedByTheMedianOfItsRoundsRatios) {
  const Row row = {.what = "a", .unit = "us", .floor = "b", .bound = 3, .figures = {2, 90, 30}, .floors = {1, 10, 10}};
  EXPECT_EQ(row.judged(), 3);
  EXPECT_EQ(row.figure(), 30);
  EXPECT_EQ(row.floor_figure(), 10);
  EXPECT_TRUE(row.within_budget());
}

TEST(Row, WithoutAFloorTheFigureItselfHasTheBudget) {
  const Row row = {.what = "a", .unit = "/s", .floor = "", .budget = Budget::kAtLeast, .bound = 5, .figures = {4}};
  EXPECT_EQ(row.judged(), 4);
  EXPECT_FALSE(row.within_budget());
}

TEST(Row, AFigureAboveItsBoundIsMissed) {
  const Row row = {.what = "a", .unit = "us", .floor = "b", .bound = 2, .figures = {5}, .floors = {2}};
  EXPECT_FALSE(row.within_budget());
  EXPECT_NE(ToText({row}).find("MISSED"), std::string::npos);
}

TEST(ToJson, HasEveryRow) {
  const Row row = {.what = "a", .unit = "us", .floor = "b", .bound = 2, .figures = {3}, .floors = {2}};
  EXPECT_EQ(ToJson({row}),
            R"([{"what":"a","unit":"us","figure":3,"floor":"b","floor_figure":2,"judged":1.5,"budget":"<= 2",)"
            R"("within_budget":true}])");
}

}  // namespace
}  // namespace verbena::benchmarks
