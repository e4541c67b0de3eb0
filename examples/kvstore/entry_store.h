// A server's keys and values, and those who watch them.
//
// Owner: the service. Thread: any. Everything is done within short locks: fit for handlers on event loops.

#ifndef VERBENA_EXAMPLES_KVSTORE_ENTRY_STORE_H_
#define VERBENA_EXAMPLES_KVSTORE_ENTRY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "examples/kvstore/kvstore.pb.h"
#include "examples/mailbox/mailbox.h"

namespace verbena::examples {

inline constexpr size_t kKeyBytesMax = 1024;
inline constexpr size_t kValueBytesMax = 64 << 10;
inline constexpr size_t kEntriesMax = 100'000;
inline constexpr size_t kPresentMax = 64;  // Entries that are copied at a time, within the lock.

class EntryStore {
 public:
  using Watcher = Mailbox<demo::Change>;

  struct Entry {
    std::string value;
    uint64_t revision;
  };

  // The change's revision. InvalidArgument, ResourceExhausted: past a limit, in words.
  absl::StatusOr<uint64_t> Put(absl::string_view key, absl::string_view value);
  absl::StatusOr<Entry> Get(absl::string_view key) const;
  // The change's revision.
  absl::StatusOr<uint64_t> Delete(absl::string_view key);

  // `watcher` watches what is under `prefix`: what is there, by Present, and then every change, which it is put.
  void Watch(absl::string_view prefix, std::shared_ptr<Watcher> watcher);
  // What is there next in order of the keys, kPresentMax entries at most; nothing behind the last. `watcher`, which
  // watches, is put the changes of what it has been given so far.
  std::vector<demo::Change> Present(const std::shared_ptr<Watcher>& watcher);
  void Unwatch(const std::shared_ptr<Watcher>& watcher);
  // Closes the watchers that there are and those that come.
  void EndWatches(absl::Status why);

 private:
  using Entries = std::map<std::string, Entry, std::less<>>;
  struct Watched {
    std::string prefix;
    std::string last_present;  // What is behind it is still to be given.
    bool all_present = false;
  };

  void Tell(const demo::Change& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable std::mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  uint64_t revision_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::shared_ptr<Watcher>, Watched> watches_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> end_of_watches_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_KVSTORE_ENTRY_STORE_H_
