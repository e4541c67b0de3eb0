// The transfers that are under way, by id: bounded in number, dropped when their client has not been heard of for long.
// Thread-safe.

#ifndef VERBENA_EXAMPLES_FILECOPY_TRANSFER_TABLE_H_
#define VERBENA_EXAMPLES_FILECOPY_TRANSFER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/filecopy/incoming_transfer.h"

namespace verbena::examples {

struct TransferLimits {
  size_t transfers_max = 64;                       // Under way at a time.
  absl::Duration idle_timeout = absl::Minutes(5);  // Since the last call for it; checked when another one begins.
};

struct Transfer {
  std::string name;
  uint64_t reads_before;  // The transport's count of READs when it began.
  IncomingTransfer incoming;
};

class TransferTable {
 public:
  explicit TransferTable(const TransferLimits& limits) : limits_(limits) {}

  // Adds a transfer and returns its id, which nobody can guess. ResourceExhausted: there are too many.
  absl::StatusOr<uint64_t> Add(std::shared_ptr<Transfer> transfer, absl::Time now);
  // NotFound: there is none, or not any more.
  absl::StatusOr<std::shared_ptr<Transfer>> Find(uint64_t id, absl::Time now);
  // Forgets a transfer; its partial file goes when the last call that uses it ends.
  void Remove(uint64_t id);

 private:
  struct Entry {
    std::shared_ptr<Transfer> transfer;
    absl::Time last_use;
  };

  const TransferLimits limits_;
  std::mutex mutex_;
  std::map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_TRANSFER_TABLE_H_
