#include "transport/audit_log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "transport/log.h"

namespace verbena::transport {
namespace {

constexpr size_t kPartBytesMax = 512;

}  // namespace

bool AuditLog::TakeLine(absl::Time now) {
  if (counted_until_ == absl::InfinitePast()) counted_until_ = now;
  if (now > counted_until_) {  // Loops' clocks may be a little apart.
    lines_ = std::min<double>(lines_ + absl::FDivDuration(now - counted_until_, kLineInterval), kLinesAtOnceMax);
    counted_until_ = now;
  }
  if (lines_ < 1) return false;
  --lines_;
  return true;
}

void AuditLog::Refused(absl::string_view what, const absl::Status& why, absl::Time now) {
  uint64_t unlogged = 0;
  {
    const std::lock_guard lock(mu_);
    if (!TakeLine(now)) {
      ++unlogged_;
      return;
    }
    unlogged = std::exchange(unlogged_, 0);
  }
  const std::string before =
      unlogged == 0 ? "" : absl::StrCat(" (and ", unlogged, " refusals before it that found no room in the log)");
  Log(Severity::kWarning, absl::StrCat(Printable(what, kPartBytesMax), " was refused: ", StatusCodeToString(why.code()),
                                       ": ", Printable(why.message(), kPartBytesMax), before));
}

}  // namespace verbena::transport
