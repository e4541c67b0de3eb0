// A progress bar on one line of a terminal.

#ifndef VERBENA_EXAMPLES_FILECOPY_PROGRESS_BAR_H_
#define VERBENA_EXAMPLES_FILECOPY_PROGRESS_BAR_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace verbena::examples {

// The bar's text: "[#####     ]  50 %  128.0 MiB of 256.0 MiB  640.0 MiB/s". Pure.
std::string RenderProgress(uint64_t done_bytes, uint64_t total_bytes, absl::Duration elapsed);

// "1.5 GiB".
std::string FormatBytes(double bytes);

// Writes to standard error if that is a terminal, else nothing. At most ten times a second, so that it costs nothing.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();  // Ends the line, if there is one.

  void Show(uint64_t done_bytes, uint64_t total_bytes);

 private:
  const bool is_terminal_;
  const absl::Time start_;
  absl::Time next_update_;
  bool shown_ = false;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_PROGRESS_BAR_H_
