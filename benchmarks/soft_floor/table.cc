#include "benchmarks/soft_floor/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "benchmarks/yardstick/median.h"

namespace verbena::benchmarks {
namespace {

const char* Sign(const Row& row) { return row.budget == Row::Budget::kAtMost ? "<=" : ">="; }

std::string TextOf(const Row& row) {
  std::string floor;
  if (!row.floors.empty()) floor = absl::StrFormat("%.4g %s (%s)", row.floor_figure(), row.unit, row.floor);
  return absl::StrFormat("%-52s %10.4g %-5s %-42s %8.3g  %s %-6g %s", row.what, row.figure(), row.unit, floor,
                         row.judged(), Sign(row), row.bound, row.within_budget() ? "" : "MISSED");
}

std::string JsonOf(const Row& row) {
  return absl::StrFormat(
      R"({"what":"%s","unit":"%s","figure":%.6g,"floor":"%s","floor_figure":%.6g,"judged":%.6g,"budget":"%s %g","within_budget":%s})",
      row.what, row.unit, row.figure(), row.floor, row.floor_figure(), row.judged(), Sign(row), row.bound,
      row.within_budget() ? "true" : "false");
}

}  // namespace

double Row::figure() const { return Median(figures); }
double Row::floor_figure() const { return Median(floors); }

double Row::judged() const {
  if (floors.empty()) return figure();
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(figures.size(), floors.size()); ++i) ratios.push_back(figures[i] / floors[i]);
  return Median(std::move(ratios));
}

bool Row::within_budget() const { return budget == Budget::kAtMost ? judged() <= bound : judged() >= bound; }

std::string ToText(const std::vector<Row>& rows) {
  std::string text =
      absl::StrFormat("%-52s %10s %-5s %-42s %8s  %s\n", "what", "figure", "unit", "floor", "ratio", "budget");
  for (const Row& row : rows) absl::StrAppend(&text, TextOf(row), "\n");
  return text;
}

std::string ToJson(const std::vector<Row>& rows) {
  return absl::StrCat("[", absl::StrJoin(rows, ",", [](std::string* out, const Row& row) { out->append(JsonOf(row)); }),
                      "]");
}

}  // namespace verbena::benchmarks
