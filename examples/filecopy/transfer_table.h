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
  // Stops the transfer of `name`, if there is one, for another to go on with its partial file: what still comes for it
  // fails as Aborted, in words, until that client has not been heard of for long.
  void Supersede(const std::string& name);
  // Forgets a transfer, and returns it. Null: there is none.
  std::shared_ptr<Transfer> Remove(uint64_t id);

 private:
  struct Entry {
    std::shared_ptr<Transfer> transfer;
    absl::Time last_use;
    bool superseded = false;  // Kept to say so; no more than transfers_max such.
  };
  using Entries = std::map<uint64_t, Entry>;

  // Of those under way, or of the others.
  size_t Count(bool superseded) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetOldestSuperseded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TransferLimits limits_;
  std::mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_TRANSFER_TABLE_H_
