// Messages in a batch: their order, and what memory it keeps.

#include "rpc/blocking/message_batch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/allocation_count/allocation_count.h"

namespace verbena::rpc {
namespace {

using testing::AllocationsOf;

void Add(MessageBatch& batch, absl::string_view message) {
  std::memcpy(batch.AppendCopy(message.size(), {}), message.data(), message.size());
}

std::string TakeText(MessageBatch& batch) {
  const MessageBatch::Message message = batch.Take();
  if (!message.copied) return std::string(message.beside);
  return {reinterpret_cast<const char*>(message.body), message.body_bytes};
}

TEST(MessageBatch, SmallOnesAndOthersAreTakenInOrder) {
  MessageBatch batch;
  EXPECT_TRUE(batch.empty());
  Add(batch, "first");
  batch.AppendShared(absl::Cord("body, and what is beside it"), 4);
  Add(batch, "third");
  EXPECT_EQ(TakeText(batch), "first");
  EXPECT_EQ(TakeText(batch), "body, and what is beside it");
  EXPECT_FALSE(batch.empty());
  EXPECT_EQ(TakeText(batch), "third");
  EXPECT_TRUE(batch.empty());
}

TEST(MessageBatch, AttachmentComesWithItsMessageAndCounts) {
  MessageBatch batch;
  std::memcpy(batch.AppendCopy(4, absl::Cord("beside")), "body", 4);
  EXPECT_EQ(batch.charge(), 10 + kStreamMessageOverhead);
  batch.AppendShared(absl::Cord("body and beside"), 4);
  EXPECT_EQ(batch.charge(), 10 + 15 + 2 * kStreamMessageOverhead);
  MessageBatch::Message message = batch.Take();
  EXPECT_TRUE(message.copied);
  EXPECT_EQ(message.beside, "beside");
  EXPECT_EQ(message.charge(), 10 + kStreamMessageOverhead);
  message = batch.Take();
  EXPECT_FALSE(message.copied);
  EXPECT_EQ(message.beside, "body and beside");
  EXPECT_EQ(message.charge(), 15 + kStreamMessageOverhead);
}

TEST(MessageBatch, MemoryIsUsedAgain) {
  const std::string message(1000, 'm');
  MessageBatch batch;
  const auto fill = [&] {
    for (int i = 0; i < 10; ++i) Add(batch, message);
  };
  fill();
  batch.Clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(AllocationsOf(fill), 0u);
}

TEST(MessageBatch, BlocksOfManyAreThereForTheNext) {
  const std::string message(kCopyBlockBytes, 'm');
  MessageBatch batch;
  const auto fill = [&] {
    for (int i = 0; i < 3; ++i) Add(batch, message);
  };
  fill();
  batch.Clear();
  EXPECT_EQ(AllocationsOf(fill), 0u);
}

TEST(MessageBatch, MessagesOfNothingTakeMemoryToo) {
  MessageBatch batch;
  const auto fill = [&] {
    for (size_t i = 0; i < 2 * kCopyBlockBytes / sizeof(MessageBatch::Message); ++i) Add(batch, "");
  };
  fill();
  batch.Clear();
  EXPECT_GT(AllocationsOf(fill), 0u);
}

TEST(MessageBatch, MessageStaysWhereItIsWhenOthersFollow) {
  MessageBatch batch;
  Add(batch, "first");
  const MessageBatch::Message first = batch.Take();
  for (int i = 0; i < 5; ++i) Add(batch, std::string(kCopyBlockBytes / 2 + 1, '.'));
  EXPECT_EQ(std::memcmp(first.body, "first", first.body_bytes), 0);
}

}  // namespace
}  // namespace verbena::rpc
