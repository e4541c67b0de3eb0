// How far a copy is: a progress bar on one line of a terminal, or lines for a program to read.

#ifndef VERBENA_EXAMPLES_FILECOPY_PROGRESS_BAR_H_
#define VERBENA_EXAMPLES_FILECOPY_PROGRESS_BAR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace verbena::examples {

// The bar's text: "[#####     ]  50 %  128.0 MiB of 256.0 MiB  640.0 MiB/s". `kept_bytes` of those that are done took
// none of `elapsed`. Pure.
std::string RenderProgress(uint64_t done_bytes, uint64_t total_bytes, absl::Duration elapsed, uint64_t kept_bytes = 0);

// "1.5 GiB".
std::string FormatBytes(double bytes);

// Writes to standard error. A bar if that is a terminal, else nothing; at most ten times a second, so that it costs
// nothing.
class ProgressBar {
 public:
  // `lines`: instead of the bar, wherever standard error goes, "PROGRAM: DONE of TOTAL bytes" each time.
  ProgressBar(std::string program, bool lines);
  ~ProgressBar();  // Ends the line, if there is one.

  void Show(uint64_t done_bytes, uint64_t total_bytes);
  // A line of its own: "PROGRAM: TEXT".
  void Say(const std::string& text);

 private:
  void EndLine();

  const std::string program_;
  const bool lines_;
  const bool is_terminal_;
  const absl::Time start_;
  absl::Time next_update_;
  std::optional<uint64_t> kept_bytes_;  // What was done already when first shown.
  bool shown_ = false;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_PROGRESS_BAR_H_
