#include "rpc/attachment/attachment_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/attachment/arriving_attachment.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/server_context.h"
#include "rpc/testing/manual_loop.h"

namespace verbena::rpc {
namespace {

class AttachmentReaderTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSize = 10;

  // Until the end, or an error: "abc|def|end".
  static std::string ReadAll(AttachmentReader reader) {
    std::string read;
    while (true) {
      const absl::StatusOr<absl::Cord> part = reader.Read();
      if (!part.ok()) return read + std::string(part.status().message());
      if (part->empty()) return read + "end";
      read += std::string(*part) + "|";
    }
  }
  Task<std::string> CoReadAll(AttachmentReader reader) {
    std::string read;
    while (true) {
      const absl::StatusOr<absl::Cord> part = co_await reader.CoRead();
      if (!part.ok()) co_return read + std::string(part.status().message());
      if (part->empty()) co_return read + "end";
      read += std::string(*part) + "|";
    }
  }

  const std::shared_ptr<ArrivingAttachment> attachment_ = std::make_shared<ArrivingAttachment>(kSize);
  AttachmentReader reader_{attachment_};
};

TEST_F(AttachmentReaderTest, ABlockingReadWaitsForTheNextPart) {
  EXPECT_EQ(reader_.size(), kSize);
  std::string read;
  std::thread handler([&] {
    for (int i = 0; i < 3; ++i) read += std::string(reader_.Read().value()) + "|";
  });
  attachment_->Add(absl::Cord("abcde"));
  while (attachment_->readable()) std::this_thread::yield();  // It has taken the first.
  attachment_->Add(absl::Cord("fghij"));
  handler.join();
  EXPECT_EQ(read, "abcde|fghij||");
}

TEST_F(AttachmentReaderTest, ABlockingReadEndsWithTheFailure) {
  std::string read;
  std::thread handler([&] { read = ReadAll(reader_); });
  attachment_->Add(absl::Cord("abc"));
  while (attachment_->readable()) std::this_thread::yield();
  attachment_->Fail(absl::UnavailableError("cable cut"));
  handler.join();
  EXPECT_EQ(read, "abc|cable cut");
}

TEST_F(AttachmentReaderTest, ABlockingReadEndsWhenTheAttachmentIsClosed) {
  absl::Status status;
  std::thread handler([&] { status = reader_.Read().status(); });
  std::this_thread::yield();
  attachment_->Close();
  handler.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(AttachmentReaderTest, ABlockingReadOnTheLoopsThreadIsRefused) {
  const CallbackScope scope(this);
  attachment_->Add(absl::Cord("0123456789"));
  EXPECT_EQ(reader_.Read().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AttachmentReaderTest, ACallbackGetsEachPartAndTheEnd) {
  std::string read;
  std::function<void(absl::StatusOr<absl::Cord>)> next = [&](absl::StatusOr<absl::Cord> part) {
    read += std::string(part.value()) + "|";
    if (!part->empty()) reader_.Read(next);
  };
  reader_.Read(next);
  for (const char* part : {"abc", "def", "ghij"}) attachment_->Add(absl::Cord(part));
  EXPECT_EQ(read, "abc|def|ghij||");
}

TEST_F(AttachmentReaderTest, ASecondReadBesideTheFirstIsRefused) {
  std::vector<std::string> read;
  const auto note = [&](absl::StatusOr<absl::Cord> part) {
    read.push_back(part.ok() ? std::string(*part) : std::string(part.status().message()));
  };
  reader_.Read(note);
  reader_.Read(note);
  attachment_->Add(absl::Cord("abc"));
  EXPECT_EQ(read, (std::vector<std::string>{"another read of this attachment is under way", "abc"}));
}

TEST_F(AttachmentReaderTest, ACoroutineReadsPartByPart) {
  testing::Started<std::string> reading(CoReadAll(reader_));
  for (const char* part : {"abc", "def", "ghij"}) attachment_->Add(absl::Cord(part));
  ASSERT_TRUE(reading.has_finished());
  EXPECT_EQ(reading.outcome().value(), "abc|def|ghij|end");
}

TEST_F(AttachmentReaderTest, ACoroutineThatIsDestroyedWhileItWaitsLosesNothing) {
  testing::Started<std::string> reading(CoReadAll(reader_));
  attachment_->Add(absl::Cord("abc"));
  reading.Cancel();
  attachment_->Add(absl::Cord("def"));
  testing::Started<std::string> next(CoReadAll(reader_));
  attachment_->Add(absl::Cord("ghij"));
  ASSERT_TRUE(next.has_finished());
  EXPECT_EQ(next.outcome().value(), "def|ghij|end");
}

TEST_F(AttachmentReaderTest, ACoroutineIsRefusedBesideAnotherRead) {
  testing::Started<std::string> first(CoReadAll(reader_));
  testing::Started<std::string> second(CoReadAll(reader_));
  ASSERT_TRUE(second.has_finished());
  EXPECT_EQ(second.outcome().value(), "another read of this attachment is under way");
  attachment_->Add(absl::Cord("0123456789"));
  EXPECT_EQ(first.outcome().value(), "0123456789|end");
}

TEST_F(AttachmentReaderTest, OfAContextWithoutACallIsAtItsEnd) {
  ServerContext context;
  EXPECT_EQ(context.attachment_reader().size(), 0u);
  EXPECT_EQ(ReadAll(context.attachment_reader()), "end");
}

}  // namespace
}  // namespace verbena::rpc
