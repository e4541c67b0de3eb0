// What the kinds of name source have in common: a task that looks up servers and tells a watcher.
//
// Thread: Run and what is protected, the task's; Refresh, any. Owner: NameSource, and the thread while it runs.

#ifndef VERBENA_RPC_NAMES_NAME_LOOKUP_H_
#define VERBENA_RPC_NAMES_NAME_LOOKUP_H_

#include <atomic>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/core/reconnect.h"
#include "rpc/names/background_task.h"
#include "rpc/names/name_source.h"

namespace verbena::rpc {

// Of the intervals at which sources ask others, so that clients that began together do not ask in step.
inline constexpr double kIntervalJitter = 0.2;

// When to try again, for sources that ask others.
ReconnectOptions RetryOptions(const NameSourceOptions& options);

class NameLookup : public BackgroundTask {
 public:
  using Watcher = NameSource::Watcher;
  using List = absl::StatusOr<std::vector<ServerAddress>>;

  explicit NameLookup(Watcher watcher) : watcher_(std::move(watcher)) {}

  // Run should look anew, soon.
  void Refresh();

 protected:
  // Whether Refresh was called since.
  bool TakeRefresh() { return refresh_.exchange(false); }

  // Tells the watcher, unless that is what it was told last, or this is stopping.
  void Report(const List& list);

 private:
  Watcher watcher_;
  std::optional<List> told_;
  std::atomic<bool> refresh_ = false;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_NAME_LOOKUP_H_
