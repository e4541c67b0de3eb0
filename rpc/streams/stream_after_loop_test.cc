// Streams whose channel or server has gone while their users go on, on several threads, and what was posted before then
// runs beside them.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/core/stream_header.h"
#include "rpc/message_stream.h"
#include "rpc/testing/lambda_service.h"
#include "transport/event_loop.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {
namespace {

using testing::Text;

// Is in the midst of each read that brings a message.
class Midst : public MessageObserver {
 public:
  explicit Midst(std::function<void()> what) : what_(std::move(what)) {}
  void OnSend(const google::protobuf::MessageLite&) override {}
  void OnReceived(const google::protobuf::MessageLite&) override { what_(); }

 private:
  const std::function<void()> what_;
};

class EmptyMessage : public transport::ReceivedPayload {
 public:
  absl::Span<const std::byte> bytes() const override { return {}; }
  absl::Cord Share(size_t) override { return {}; }
};

// The loop runs while somebody drives it. What completes is noted without a lock: completions run one at a time.
class StreamAfterLoopTest : public ::testing::Test {
 protected:
  void Receive() {
    std::vector<std::byte> header(kStreamHeaderBytes);
    EncodeStreamHeader({0, 0}, header.data());
    EmptyMessage message;
    ASSERT_EQ(stream_->OnInbound(MessageKind::kStreamMessage, header, message), absl::OkStatus());
  }
  void Leave() { handle_->Detach(); }
  // Reads what was received and, before that is complete, lets another thread do `what`, to its end.
  void ReadWhile(std::function<void()> what) {
    stream_->set_observer(std::make_shared<Midst>([this, what = std::move(what)] {
      std::thread(what).join();
      EXPECT_EQ(completed_, std::vector<absl::StatusCode>());
    }));
    Read();
  }
  // What was posted so far.
  void DriveLoop() {
    bool last = false;
    loop_->Post([&last] { last = true; });
    loop_->RunUntil([&last] { return last; });
  }

  void Read(std::binary_semaphore* done = nullptr) {
    stream_->Read(&incoming_, nullptr, [this, done](absl::Status status) { OnDone(status, done); });
  }
  void Write(std::binary_semaphore* done = nullptr) {
    stream_->Write(&outgoing_, {}, [this, done](absl::Status status) { OnDone(status, done); });
  }
  void OnDone(const absl::Status& status, std::binary_semaphore* done) {
    completed_.push_back(status.code());
    if (done != nullptr) done->release();
  }

  const std::unique_ptr<transport::EventLoop> loop_ = *transport::EventLoop::Create({});
  const std::shared_ptr<transport::LoopHandle> handle_ = std::make_shared<transport::LoopHandle>(loop_.get());
  const std::shared_ptr<MessageStream> stream_ = std::make_shared<MessageStream>(handle_, StreamOptions());
  Text incoming_;
  Text outgoing_;
  std::vector<absl::StatusCode> completed_;
};

const std::vector<absl::StatusCode> kReadThenWrite = {absl::StatusCode::kOk, absl::StatusCode::kCancelled};

TEST_F(StreamAfterLoopTest, WriteThatWasPostedWaitsForTheReadInPlace) {
  Receive();
  stream_->Close(MessageStream::Unread::kKeep);
  Write();
  Leave();
  ReadWhile([this] { DriveLoop(); });
  EXPECT_EQ(completed_, kReadThenWrite);
}

// As of a call that was refused just before its channel went: a task ends it.
TEST_F(StreamAfterLoopTest, EndThatWasPostedWaitsForTheReadInPlace) {
  Receive();
  Write();
  DriveLoop();
  loop_->Post([this] { stream_->End(MessageStream::Unread::kDrop); });
  Leave();
  ReadWhile([this] { DriveLoop(); });
  EXPECT_EQ(completed_, kReadThenWrite);
}

TEST_F(StreamAfterLoopTest, CompletionsThatWerePostedWaitForTheReadInPlace) {
  Receive();
  Write();
  DriveLoop();
  stream_->Close(MessageStream::Unread::kKeep);
  Leave();
  ReadWhile([this] { DriveLoop(); });
  EXPECT_EQ(completed_, (std::vector{absl::StatusCode::kCancelled, absl::StatusCode::kOk}));  // In their order.
}

TEST_F(StreamAfterLoopTest, WriteInPlaceWaitsForTheReadInPlace) {
  Receive();
  stream_->Close(MessageStream::Unread::kKeep);
  Leave();
  ReadWhile([this] { Write(); });
  EXPECT_EQ(completed_, kReadThenWrite);
}

TEST_F(StreamAfterLoopTest, ReaderAndWriterHaveEachTheirCompletions) {
  constexpr size_t kOperations = 200;
  stream_->Close(MessageStream::Unread::kDrop);
  Leave();
  std::thread reader([this] {
    std::binary_semaphore done(0);
    for (size_t i = 0; i < kOperations; ++i) {
      Read(&done);
      done.acquire();
    }
  });
  std::binary_semaphore done(0);
  for (size_t i = 0; i < kOperations; ++i) {
    Write(&done);
    done.acquire();
  }
  reader.join();
  EXPECT_EQ(completed_.size(), 2 * kOperations);
}

}  // namespace
}  // namespace verbena::rpc
