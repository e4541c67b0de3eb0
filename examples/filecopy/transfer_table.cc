#include "examples/filecopy/transfer_table.h"

#include <openssl/rand.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::examples {

absl::StatusOr<uint64_t> TransferTable::Add(std::shared_ptr<Transfer> transfer, absl::Time now) {
  uint64_t id = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&id), sizeof(id)) != 1) {
    return absl::InternalError("no random bytes for a transfer's id");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry = now - entry->second.last_use > limits_.idle_timeout ? entries_.erase(entry) : std::next(entry);
  }
  if (entries_.size() >= limits_.transfers_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(limits_.transfers_max, " transfers are under way, and no more are allowed"));
  }
  if (!entries_.emplace(id, Entry{std::move(transfer), now}).second) {
    return absl::UnavailableError("two transfers drew the same id");  // Once in 2^64 times the number of transfers.
  }
  return id;
}

absl::StatusOr<std::shared_ptr<Transfer>> TransferTable::Find(uint64_t id, absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end())
    return absl::NotFoundError("no such transfer: finished, abandoned, or idle for too long");
  entry->second.last_use = now;
  return entry->second.transfer;
}

void TransferTable::Remove(uint64_t id) {
  std::shared_ptr<Transfer> removed;  // Destroyed without the lock: it removes a file.
  std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  removed = std::move(entry->second.transfer);
  entries_.erase(entry);
}

}  // namespace verbena::examples
