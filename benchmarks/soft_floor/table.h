// The table that the benchmark prints: figures, what each is compared with, and whether it is within its budget.

#ifndef VERBENA_BENCHMARKS_SOFT_FLOOR_TABLE_H_
#define VERBENA_BENCHMARKS_SOFT_FLOOR_TABLE_H_

#include <string>
#include <vector>

namespace verbena::benchmarks {

struct Row {
  std::string what;
  std::string unit;
  std::string floor;  // What it is compared with; empty: with nothing, the figure itself has the budget.

  enum class Budget { kAtMost, kAtLeast };
  Budget budget = Budget::kAtMost;
  double bound = 0;  // Of the ratio, or of the figure.

  // One of each round.
  std::vector<double> figures = {};
  std::vector<double> floors = {};

  double figure() const;        // The median.
  double floor_figure() const;  // The same; 0 if there is no floor.
  double judged() const;        // The median of the rounds' ratios, or figure().
  bool within_budget() const;
};

std::string ToText(const std::vector<Row>& rows);
std::string ToJson(const std::vector<Row>& rows);  // One line, without a line end.

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_SOFT_FLOOR_TABLE_H_
