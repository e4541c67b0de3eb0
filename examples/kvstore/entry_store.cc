#include "examples/kvstore/entry_store.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace verbena::examples {
namespace {

absl::Status CheckEntry(absl::string_view key, absl::string_view value) {
  if (key.empty()) return absl::InvalidArgumentError("the key is empty");
  if (key.size() > kKeyBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the key has ", key.size(), " bytes; ", kKeyBytesMax, " at most"));
  }
  if (value.size() > kValueBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value has ", value.size(), " bytes; ", kValueBytesMax, " at most"));
  }
  return absl::OkStatus();
}

absl::Status NoSuchKey(absl::string_view key) {
  return absl::NotFoundError(absl::StrCat("this server does not have \"", key, "\""));
}

demo::Change MakeChange(absl::string_view key, const EntryStore::Entry& entry) {
  demo::Change change;
  change.set_key(std::string(key));
  change.set_value(entry.value);
  change.set_revision(entry.revision);
  return change;
}

}  // namespace

absl::StatusOr<uint64_t> EntryStore::Put(absl::string_view key, absl::string_view value) {
  if (absl::Status status = CheckEntry(key, value); !status.ok()) return status;
  const std::lock_guard lock(mu_);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (entries_.size() == kEntriesMax) {
      return absl::ResourceExhaustedError(absl::StrCat("this server is full: it has ", kEntriesMax, " entries"));
    }
    found = entries_.try_emplace(std::string(key)).first;
  }
  found->second = {std::string(value), ++revision_};
  Tell(MakeChange(key, found->second));
  return revision_;
}

absl::StatusOr<EntryStore::Entry> EntryStore::Get(absl::string_view key) const {
  const std::lock_guard lock(mu_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return NoSuchKey(key);
  return found->second;
}

absl::StatusOr<uint64_t> EntryStore::Delete(absl::string_view key) {
  const std::lock_guard lock(mu_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return NoSuchKey(key);
  entries_.erase(found);
  demo::Change change = MakeChange(key, {"", ++revision_});
  change.set_deleted(true);
  Tell(change);
  return revision_;
}

void EntryStore::Watch(absl::string_view prefix, std::shared_ptr<Watcher> watcher) {
  const std::lock_guard lock(mu_);
  if (end_of_watches_.has_value()) watcher->Close(*end_of_watches_);
  watches_[std::move(watcher)].prefix = std::string(prefix);
}

std::vector<demo::Change> EntryStore::Present(const std::shared_ptr<Watcher>& watcher) {
  const std::lock_guard lock(mu_);
  Watched& watched = watches_.at(watcher);
  std::vector<demo::Change> present;
  if (watched.all_present) return present;  // What has come since the watcher was put.
  // No key is empty.
  auto entry =
      watched.last_present.empty() ? entries_.lower_bound(watched.prefix) : entries_.upper_bound(watched.last_present);
  for (; present.size() < kPresentMax; ++entry) {
    watched.all_present = entry == entries_.end() || !absl::StartsWith(entry->first, watched.prefix);
    if (watched.all_present) return present;
    present.push_back(MakeChange(entry->first, entry->second));
    watched.last_present = entry->first;
  }
  return present;
}

void EntryStore::Unwatch(const std::shared_ptr<Watcher>& watcher) {
  const std::lock_guard lock(mu_);
  watches_.erase(watcher);
}

void EntryStore::EndWatches(absl::Status why) {
  const std::lock_guard lock(mu_);
  for (const auto& [watcher, watched] : watches_) watcher->Close(why);
  end_of_watches_ = std::move(why);
}

void EntryStore::Tell(const demo::Change& change) {
  for (const auto& [watcher, watched] : watches_) {
    if (!absl::StartsWith(change.key(), watched.prefix)) continue;
    if (watched.all_present || change.key() <= watched.last_present) watcher->Put(change);
  }
}

}  // namespace verbena::examples
