#include "benchmarks/yardstick/median.h"

#include <algorithm>
#include <cstddef>

namespace verbena::benchmarks {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace verbena::benchmarks
