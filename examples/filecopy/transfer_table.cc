#include "examples/filecopy/transfer_table.h"

#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::examples {

absl::StatusOr<uint64_t> TransferTable::Add(std::shared_ptr<Transfer> transfer, absl::Time now) {
  uint64_t id = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&id), sizeof(id)) != 1) {
    return absl::InternalError("no random bytes for a transfer's id");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.last_use > limits_.idle_timeout; });
  if (Count(/*superseded=*/false) >= limits_.transfers_max) {
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

size_t TransferTable::Count(bool superseded) const {
  return std::count_if(entries_.begin(), entries_.end(),
                       [=](const auto& entry) { return entry.second.superseded == superseded; });
}

void TransferTable::ForgetOldestSuperseded() {
  auto oldest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->second.superseded) continue;
    if (oldest == entries_.end() || entry->second.last_use < oldest->second.last_use) oldest = entry;
  }
  if (oldest != entries_.end()) entries_.erase(oldest);
}

void TransferTable::Supersede(const std::string& name) {
  std::shared_ptr<Transfer> stopped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [id, entry] : entries_) {
      if (entry.superseded || entry.transfer->name != name) continue;
      entry.superseded = true;
      stopped = entry.transfer;  // The only one: who has the partial file has it alone.
    }
    if (Count(/*superseded=*/true) > limits_.transfers_max) ForgetOldestSuperseded();
  }
  // Without the lock: it waits for the disk.
  if (stopped != nullptr) {
    stopped->incoming.Stop(absl::AbortedError(absl::StrCat("a later transfer of ", name, " has taken its place")));
  }
}

std::shared_ptr<Transfer> TransferTable::Remove(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  std::shared_ptr<Transfer> removed = std::move(found->second.transfer);
  entries_.erase(found);
  return removed;
}

}  // namespace verbena::examples
