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

std::vector<demo::Change> EntryStore::Watch(absl::string_view prefix, std::shared_ptr<Watcher> watcher) {
  const std::lock_guard lock(mu_);
  if (end_of_watches_.has_value()) watcher->Close(*end_of_watches_);
  std::vector<demo::Change> present;
  for (auto entry = entries_.lower_bound(prefix); entry != entries_.end(); ++entry) {
    if (!absl::StartsWith(entry->first, prefix)) break;
    present.push_back(MakeChange(entry->first, entry->second));
  }
  prefixes_.emplace(std::move(watcher), prefix);
  return present;
}

void EntryStore::Unwatch(const std::shared_ptr<Watcher>& watcher) {
  const std::lock_guard lock(mu_);
  prefixes_.erase(watcher);
}

void EntryStore::EndWatches(absl::Status why) {
  const std::lock_guard lock(mu_);
  for (const auto& [watcher, prefix] : prefixes_) watcher->Close(why);
  end_of_watches_ = std::move(why);
}

void EntryStore::Tell(const demo::Change& change) {
  for (const auto& [watcher, prefix] : prefixes_) {
    if (absl::StartsWith(change.key(), prefix)) watcher->Put(change);
  }
}

}  // namespace verbena::examples
