// Partial files that nobody goes on with: removed when they are old.

#ifndef VERBENA_EXAMPLES_FILECOPY_STALE_PARTIALS_H_
#define VERBENA_EXAMPLES_FILECOPY_STALE_PARTIALS_H_

#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace verbena::examples {

// Thread-safe.
class StalePartials {
 public:
  // Of `directory`; old is what has not been written to for `keep`.
  StalePartials(std::string directory, absl::Duration keep) : directory_(std::move(directory)), keep_(keep) {}

  // Removes what is old at `now`, but what a transfer has; looks at the directory again only a tenth of `keep` later.
  // What cannot be removed stays, and is not worth an error.
  void RemoveIfDue(absl::Time now);

 private:
  const std::string directory_;
  const absl::Duration keep_;
  std::mutex mutex_;
  absl::Time due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_STALE_PARTIALS_H_
