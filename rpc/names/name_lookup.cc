#include "rpc/names/name_lookup.h"

#include "transport/run_logging.h"

namespace verbena::rpc {

ReconnectOptions RetryOptions(const NameSourceOptions& options) {
  ReconnectOptions retry;
  retry.delay_min = options.retry_delay_min;
  retry.delay_max = options.retry_delay_max;
  return retry;
}

void NameLookup::Refresh() {
  refresh_.store(true);
  Wake();
}

void NameLookup::Report(const List& list) {
  if (stopping() || told_ == list) return;
  told_ = list;
  RunLogging("a watcher of names", [this] { watcher_(*told_); });
}

}  // namespace verbena::rpc
