#include "examples/filecopy/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace verbena::examples {
namespace {

constexpr int kBarWidth = 40;  // Characters between the brackets.
constexpr absl::Duration kUpdateInterval = absl::Milliseconds(100);

}  // namespace

std::string FormatBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.*f %s", unit == 0 ? 0 : 1, bytes, kUnits[unit]);
}

std::string RenderProgress(uint64_t done_bytes, uint64_t total_bytes, absl::Duration elapsed, uint64_t kept_bytes) {
  const double share = total_bytes == 0 ? 1.0 : static_cast<double>(done_bytes) / static_cast<double>(total_bytes);
  const int filled = static_cast<int>(share * kBarWidth);
  const double seconds = absl::ToDoubleSeconds(elapsed);
  const std::string rate =
      seconds > 0 ? FormatBytes(static_cast<double>(done_bytes - std::min(kept_bytes, done_bytes)) / seconds) + "/s"
                  : "";
  return absl::StrFormat("[%s%s] %3d %%  %s of %s  %s", std::string(filled, '#'), std::string(kBarWidth - filled, ' '),
                         static_cast<int>(share * 100), FormatBytes(static_cast<double>(done_bytes)),
                         FormatBytes(static_cast<double>(total_bytes)), rate);
}

ProgressBar::ProgressBar(std::string program, bool lines)
    : program_(std::move(program)),
      lines_(lines),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      start_(absl::Now()),
      next_update_(start_) {}

ProgressBar::~ProgressBar() { EndLine(); }

void ProgressBar::EndLine() {
  if (shown_) std::cerr << "\n";
  shown_ = false;
}

void ProgressBar::Say(const std::string& text) {
  EndLine();
  std::cerr << absl::StrCat(program_, ": ", text, "\n");
}

void ProgressBar::Show(uint64_t done_bytes, uint64_t total_bytes) {
  if (lines_) return Say(absl::StrCat(done_bytes, " of ", total_bytes, " bytes"));
  if (!is_terminal_) return;
  if (!kept_bytes_.has_value()) kept_bytes_ = done_bytes;
  const absl::Time now = absl::Now();
  if (now < next_update_ && done_bytes != total_bytes) return;
  next_update_ = now + kUpdateInterval;
  shown_ = true;
  // "\x1b[K" clears what a longer line left.
  std::cerr << absl::StrCat("\r", RenderProgress(done_bytes, total_bytes, now - start_, *kept_bytes_), "\x1b[K");
}

}  // namespace verbena::examples
