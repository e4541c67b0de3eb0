// The middle of several figures: what a noisy machine is judged by.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_MEDIAN_H_
#define VERBENA_BENCHMARKS_YARDSTICK_MEDIAN_H_

#include <vector>

namespace verbena::benchmarks {

// The middle one; the mean of the two middle ones of an even number; 0 of none.
double Median(std::vector<double> values);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_MEDIAN_H_
