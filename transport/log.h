// Log lines for people. One line, one cause: an error is logged once, where it is first known. Never on the hot path.

#ifndef VERBENA_TRANSPORT_LOG_H_
#define VERBENA_TRANSPORT_LOG_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace verbena {

enum class Severity { kInfo, kWarning, kError };

// Writes one line: to standard error, or to the sink that was set. Thread: any.
void Log(Severity severity, absl::string_view text);

// Replaces where lines go; an empty function restores standard error. The sink is called with one thread at a time.
// Thread: any.
using LogSink = std::function<void(Severity severity, absl::string_view text)>;
void SetLogSink(LogSink sink);

}  // namespace verbena

#endif  // VERBENA_TRANSPORT_LOG_H_
