#include "transport/log.h"

#include <unistd.h>

#include <mutex>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace verbena {
namespace {

struct Sink {
  std::mutex mu;
  LogSink function ABSL_GUARDED_BY(mu);
};

// Never destroyed: threads may log while the process ends.
Sink& CurrentSink() {
  static Sink* const sink = new Sink;
  return *sink;
}

absl::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

// One write(2), so that lines of several processes on one terminal do not mix.
void WriteToStandardError(Severity severity, absl::string_view text) {
  const std::string when = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  const std::string line = absl::StrCat(when, " ", ToString(severity), " verbena: ", text, "\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void Log(Severity severity, absl::string_view text) {
  Sink& sink = CurrentSink();
  const std::lock_guard lock(sink.mu);
  if (sink.function) {
    sink.function(severity, text);
  } else {
    WriteToStandardError(severity, text);
  }
}

void SetLogSink(LogSink function) {
  Sink& sink = CurrentSink();
  const std::lock_guard lock(sink.mu);
  sink.function = std::move(function);
}

}  // namespace verbena
