#include "examples/kvstore/entry_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "rpc/coroutine/block_on.h"

namespace verbena::examples {
namespace {

using testing::ElementsAre;

class EntryStoreTest : public testing::Test {
 protected:
  std::string ValueOf(absl::string_view key) {
    const absl::StatusOr<EntryStore::Entry> entry = store_.Get(key);
    return entry.ok() ? entry->value : entry.status().ToString();
  }
  std::shared_ptr<EntryStore::Watcher> NewWatcher() { return std::make_shared<EntryStore::Watcher>(*loop_, 10); }
  // All that it was put until it was closed, in words.
  std::vector<std::string> Told(EntryStore::Watcher& watcher) {
    std::vector<std::string> told;
    const auto reading = [&]() -> Task<absl::Status> {
      while (const std::optional<demo::Change> change = co_await watcher.Next()) told.push_back(InWords(*change));
      co_return absl::OkStatus();
    };
    EXPECT_EQ(BlockOn(*loop_, reading()), absl::OkStatus());
    return told;
  }
  static std::string InWords(const demo::Change& change) {
    return absl::StrCat(change.revision(), " ", change.key(), change.deleted() ? " deleted" : "=", change.value());
  }

  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create({}).value();
  EntryStore store_;
};

TEST_F(EntryStoreTest, WhatWasPutLastIsFoundUntilItIsDeleted) {
  EXPECT_THAT(store_.Put("a", "1"), 1);
  EXPECT_THAT(store_.Put("a", "2"), 2);
  EXPECT_EQ(ValueOf("a"), "2");
  EXPECT_THAT(store_.Delete("a"), 3);
  EXPECT_EQ(ValueOf("a"), "NOT_FOUND: this server does not have \"a\"");
  EXPECT_EQ(store_.Delete("a").status(), absl::NotFoundError("this server does not have \"a\""));
}

TEST_F(EntryStoreTest, PastALimitNothingIsPut) {
  EXPECT_EQ(store_.Put("", "1").status(), absl::InvalidArgumentError("the key is empty"));
  EXPECT_EQ(store_.Put(std::string(1025, 'k'), "1").status(),
            absl::InvalidArgumentError("the key has 1025 bytes; 1024 at most"));
  EXPECT_EQ(store_.Put("a", std::string(65537, 'v')).status(),
            absl::InvalidArgumentError("the value has 65537 bytes; 65536 at most"));
  for (size_t i = 0; i < kEntriesMax; ++i) ASSERT_TRUE(store_.Put(absl::StrCat(i), "").ok());
  EXPECT_EQ(store_.Put("one more", "").status(),
            absl::ResourceExhaustedError("this server is full: it has 100000 entries"));
  EXPECT_TRUE(store_.Put("0", "another").ok());
}

TEST_F(EntryStoreTest, WatcherHasWhatIsThereAndThenTheChangesUnderItsPrefix) {
  ASSERT_TRUE(store_.Put("a/1", "x").ok());
  ASSERT_TRUE(store_.Put("b/1", "x").ok());
  const auto watcher = NewWatcher();
  store_.Watch("a/", watcher);
  const std::vector<demo::Change> present = store_.Present(watcher);
  ASSERT_EQ(present.size(), 1u);
  EXPECT_EQ(InWords(present.front()), "1 a/1=x");
  EXPECT_TRUE(store_.Present(watcher).empty());
  ASSERT_TRUE(store_.Put("a/2", "y").ok());
  ASSERT_TRUE(store_.Put("b/2", "y").ok());
  ASSERT_TRUE(store_.Delete("a/1").ok());
  store_.EndWatches(absl::UnavailableError("going"));
  EXPECT_THAT(Told(*watcher), ElementsAre("3 a/2=y", "5 a/1 deleted"));
  EXPECT_EQ(watcher->end(), absl::UnavailableError("going"));
}

// A change of what Present has not come to yet is told by Present, once.
TEST_F(EntryStoreTest, WatcherHasManyEntriesInPartsAndTheChangesBetweenThemOnce) {
  for (size_t i = 0; i < kPresentMax + 1; ++i) ASSERT_TRUE(store_.Put(absl::StrCat(100 + i), "x").ok());
  const auto watcher = NewWatcher();
  store_.Watch("", watcher);
  EXPECT_EQ(store_.Present(watcher).size(), kPresentMax);
  ASSERT_TRUE(store_.Put("100", "y").ok());
  ASSERT_TRUE(store_.Put("164", "y").ok());
  const std::vector<demo::Change> rest = store_.Present(watcher);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(InWords(rest.front()), "67 164=y");
  EXPECT_TRUE(store_.Present(watcher).empty());
  ASSERT_TRUE(store_.Put("200", "z").ok());
  watcher->Close(absl::OkStatus());
  EXPECT_THAT(Told(*watcher), ElementsAre("66 100=y", "68 200=z"));
}

TEST_F(EntryStoreTest, WhatComesBehindTheLastEntryIsAChangeAndNotPresent) {
  ASSERT_TRUE(store_.Put("1", "x").ok());
  const auto watcher = NewWatcher();
  store_.Watch("", watcher);
  EXPECT_EQ(store_.Present(watcher).size(), 1u);
  ASSERT_TRUE(store_.Put("2", "y").ok());
  ASSERT_TRUE(store_.Put("2", "z").ok());
  EXPECT_TRUE(store_.Present(watcher).empty());
  watcher->Close(absl::OkStatus());
  EXPECT_THAT(Told(*watcher), ElementsAre("2 2=y", "3 2=z"));
}

TEST_F(EntryStoreTest, WhoWatchesNoMoreIsToldNothing) {
  const auto watcher = NewWatcher();
  store_.Watch("", watcher);
  store_.Unwatch(watcher);
  ASSERT_TRUE(store_.Put("a", "1").ok());
  watcher->Close(absl::OkStatus());
  EXPECT_THAT(Told(*watcher), ElementsAre());
}

TEST_F(EntryStoreTest, WhoWatchesAfterTheEndOfWatchesIsEndedAtOnce) {
  store_.EndWatches(absl::UnavailableError("going"));
  const auto watcher = NewWatcher();
  store_.Watch("", watcher);
  EXPECT_EQ(watcher->end(), absl::UnavailableError("going"));
}

}  // namespace
}  // namespace verbena::examples
