// A thread that reads ahead of itself and writes behind itself, and the loop beside it, which runs only while the test
// drives it. One end of a stream whose wire keeps what it is given.

#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "rpc/blocking/read_ahead.h"
#include "rpc/blocking/write_behind.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/stream_header.h"
#include "rpc/message_stream.h"
#include "rpc/testing/manual_loop.h"
#include "transport/connection.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {
namespace {

using google::protobuf::StringValue;

constexpr uint64_t kHuge = uint64_t{1} << 40;

StringValue TextOf(std::string value) {
  StringValue text;
  text.set_value(std::move(value));
  return text;
}

class BytesPayload : public transport::ReceivedPayload {
 public:
  explicit BytesPayload(std::string bytes) : bytes_(std::move(bytes)) {}
  absl::Span<const std::byte> bytes() const override {
    return {reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()};
  }
  absl::Cord Share(size_t offset) override { return absl::Cord(bytes_.substr(offset)); }

 private:
  const std::string bytes_;
};

// Sends at once what may leave, and by a task of the loop, as at the turn's end, what may not.
class KeepingWire : public StreamWire {
 public:
  explicit KeepingWire(testing::ManualLoop* loop) : loop_(*loop) {}

  uint64_t SendMessage(const StreamHeader&, transport::PayloadSource* payload, absl::Cord, bool may_leave) override {
    if (may_leave) {
      Write(*payload);
      return transport::Connection::kLeft;
    }
    loop_.Post([this, payload] {
      if (stream == nullptr) return;
      Write(*payload);
      payload->OnWritten();
      stream->OnSent(payload, transport::SendOutcome::kDelivered);
    });
    return ++sends_;
  }
  void SendEnd(uint64_t count) override { end = count; }
  void SendWindow(uint64_t limit) override { window = limit; }
  void CancelSend(uint64_t) override {}
  void Fail(const absl::Status& status) override {
    failure = status;
    stream->Close(MessageStream::Unread::kDrop);
  }

  MessageStream* stream = nullptr;
  std::vector<std::string> sent;  // The messages' values.
  uint64_t end = 0;
  uint64_t window = 0;
  absl::Status failure;

 private:
  void Write(transport::PayloadSource& payload) {
    std::string body(payload.size(), '\0');
    payload.WriteTo(reinterpret_cast<std::byte*>(body.data()));
    StringValue text;
    EXPECT_TRUE(text.ParseFromString(body));
    sent.push_back(text.value());
  }

  testing::ManualLoop& loop_;
  uint64_t sends_ = 0;
};

class BlockingTest : public ::testing::Test {
 protected:
  BlockingTest() {
    wire_.stream = stream_.get();
    OnLoop([this] {
      stream_->Attach(&wire_);
      stream_->OpenWrites();
    });
  }
  ~BlockingTest() override { Close(); }

  void OnLoop(absl::FunctionRef<void()> what) {
    loop_->Post([what] { what(); });
    loop_->RunUntilIdle();
  }
  void Close() {
    if (loop_ == nullptr) return;
    OnLoop([this] { stream_->Close(MessageStream::Unread::kDrop); });
  }
  // What another thread does, with the loop driven meanwhile.
  void Beside(absl::FunctionRef<void()> what) {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      what();
      done = true;
      loop_->Post([] {});
    });
    loop_->DriveUntil([&done] { return done.load(); });
    thread.join();
    loop_->RunUntilIdle();
  }
  // What another thread does while nobody drives the loop.
  static void WithoutLoop(absl::FunctionRef<void()> what) {
    std::thread([what] { what(); }).join();
  }

  void Deliver(const std::string& value, const std::string& attachment = "") {
    DeliverBody(TextOf(value).SerializeAsString(), attachment);
  }
  void DeliverBody(const std::string& body, const std::string& attachment = "") {
    std::array<std::byte, kStreamHeaderBytes> header;
    EncodeStreamHeader({delivered_++, body.size()}, header.data());
    BytesPayload payload(absl::StrCat(body, attachment));
    EXPECT_EQ(stream_->OnInbound(MessageKind::kStreamMessage, header, payload), absl::OkStatus());
  }
  void DeliverEnd() {
    std::array<std::byte, kStreamHeaderBytes> header;
    EncodeStreamHeader({delivered_, 0}, header.data());
    BytesPayload nothing("");
    EXPECT_EQ(stream_->OnInbound(MessageKind::kStreamEnd, header, nothing), absl::OkStatus());
  }
  void OpenWindow(uint64_t limit) {
    std::array<std::byte, kStreamHeaderBytes> header;
    EncodeStreamHeader({0, limit}, header.data());
    BytesPayload nothing("");
    EXPECT_EQ(stream_->OnInbound(MessageKind::kStreamWindow, header, nothing), absl::OkStatus());
  }
  // The next message's value; "-" for none.
  std::string Next() {
    StringValue text;
    return reads_->Read(&text, &attachment_) ? text.value() : "-";
  }
  absl::Status Write(const std::string& value) { return writes_->Write(TextOf(value), {}); }

  std::unique_ptr<testing::ManualLoop> loop_ = std::make_unique<testing::ManualLoop>();
  KeepingWire wire_{loop_.get()};
  std::shared_ptr<transport::LoopHandle> handle_ = std::make_shared<transport::LoopHandle>(loop_.get());
  std::shared_ptr<MessageStream> stream_ = std::make_shared<MessageStream>(handle_, StreamOptions());
  std::shared_ptr<ReadAhead> reads_ = std::make_shared<ReadAhead>(stream_);
  std::shared_ptr<WriteBehind> writes_ = std::make_shared<WriteBehind>(stream_);
  absl::Cord attachment_;
  uint64_t delivered_ = 0;
};

TEST_F(BlockingTest, WhatIsThereIsReadWithoutTheLoop) {
  OnLoop([this] { Deliver("0"); });
  Beside([this] { EXPECT_EQ(Next(), "0"); });
  OnLoop([this] {
    for (int i = 1; i < 100; ++i) Deliver(absl::StrCat(i));
    DeliverEnd();
  });
  const size_t posted = loop_->posted();
  WithoutLoop([this] {
    for (int i = 1; i < 100; ++i) EXPECT_EQ(Next(), absl::StrCat(i));
    EXPECT_EQ(Next(), "-");
    EXPECT_EQ(Next(), "-");
  });
  EXPECT_EQ(loop_->posted(), posted);
  EXPECT_FALSE(reads_->unreadable());
}

TEST_F(BlockingTest, ReaderSleepsUntilAMessageComes) {
  std::thread reader([this] { EXPECT_EQ(Next(), "late"); });
  while (loop_->posted() < 2) std::this_thread::yield();  // It has begun.
  OnLoop([this] { Deliver("late"); });
  loop_->RunUntilIdle();
  reader.join();
}

TEST_F(BlockingTest, AttachmentsComeWithTheirMessageAndAreClearedWhereThereIsNone) {
  const std::string large(10000, 'x');
  OnLoop([this, &large] {
    Deliver("a", "beside a");
    Deliver("b");
    Deliver(large);
    Deliver("");
  });
  Beside([this, &large] {
    EXPECT_EQ(Next(), "a");
    EXPECT_EQ(attachment_, "beside a");
    EXPECT_EQ(Next(), "b");
    EXPECT_EQ(attachment_, "");
    EXPECT_EQ(Next(), large);
    EXPECT_EQ(attachment_, "");
    EXPECT_EQ(Next(), "");
  });
}

TEST_F(BlockingTest, ReaderWhoFallsBehindHoldsUpTheSender) {
  static constexpr size_t kBytes = 1000;
  OnLoop([this] { Deliver(std::string(kBytes, '.')); });
  Beside([this] { EXPECT_EQ(Next().size(), kBytes); });
  const uint64_t messages = StreamOptions().window_bytes / (kBytes + 100);
  OnLoop([this, messages] {
    for (uint64_t i = 1; i < messages; ++i) Deliver(std::string(kBytes, '.'));
  });
  EXPECT_LE(wire_.window, StreamOptions().window_bytes + 2 * kReadAheadBytes) << "what was taken from the window";
  Beside([this, messages] {
    for (uint64_t i = 1; i < messages; ++i) ASSERT_EQ(Next().size(), kBytes) << i;
  });
  EXPECT_GE(wire_.window, StreamOptions().window_bytes + StreamOptions().window_bytes / 2);
}

TEST_F(BlockingTest, LargeMessagesAreTakenWhenTheReaderComesForThem) {
  const std::string large(100000, 'x');
  OnLoop([this] { Deliver("small"); });
  Beside([this] { EXPECT_EQ(Next(), "small"); });
  OnLoop([this, &large] {
    for (int i = 0; i < 2; ++i) Deliver(large);
  });
  const size_t posted = loop_->posted();
  Beside([this, &large] { EXPECT_EQ(Next(), large); });
  EXPECT_LE(loop_->posted(), posted + 1) << "the thread's own end: the second one is left where it is";
  Beside([this, &large] { EXPECT_EQ(Next(), large); });
}

TEST_F(BlockingTest, NothingIsReadThatWasDropped) {
  OnLoop([this] {
    for (int i = 0; i < 3; ++i) Deliver(absl::StrCat(i));
  });
  Beside([this] { EXPECT_EQ(Next(), "0"); });
  Close();
  WithoutLoop([this] { EXPECT_EQ(Next(), "-"); });
}

TEST_F(BlockingTest, MessageThatIsNoneEndsTheCall) {
  OnLoop([this] {
    Deliver("good");
    DeliverBody("\xff\xff\xff");
    Deliver("never seen");
  });
  Beside([this] {
    EXPECT_EQ(Next(), "good");
    EXPECT_EQ(Next(), "-");
    EXPECT_EQ(Next(), "-");
  });
  EXPECT_TRUE(reads_->unreadable());
  EXPECT_TRUE(absl::IsInvalidArgument(wire_.failure)) << wire_.failure;
}

TEST_F(BlockingTest, EndOfTheCallWakesTheReader) {
  std::thread reader([this] { EXPECT_EQ(Next(), "-"); });
  while (loop_->posted() < 2) std::this_thread::yield();  // It has begun.
  Close();
  reader.join();
}

TEST_F(BlockingTest, LoopThatEndsWakesWhoReadsAndWhoWrites) {
  std::thread reader([this] { EXPECT_EQ(Next(), "-"); });
  std::thread writer([this] { EXPECT_TRUE(absl::IsCancelled(Write("never sent"))); });
  while (loop_->posted() < 3) std::this_thread::yield();  // Both have posted what the loop never runs.
  wire_.stream = nullptr;
  handle_->Detach();
  loop_.reset();
  reader.join();
  writer.join();
}

TEST_F(BlockingTest, WriterGoesOnWithoutTheLoop) {
  Beside([this] { EXPECT_EQ(Write("0"), absl::OkStatus()); });
  OnLoop([this] { OpenWindow(kHuge); });
  WithoutLoop([this] {
    for (int i = 1; i < 100; ++i) EXPECT_EQ(Write(absl::StrCat(i)), absl::OkStatus());
    writes_->EndWrites();
  });
  EXPECT_EQ(wire_.sent.size(), 1u);
  loop_->RunUntilIdle();
  ASSERT_EQ(wire_.sent.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(wire_.sent[i], absl::StrCat(i));
  EXPECT_EQ(wire_.end, 100u) << "the end follows what was written";
  WithoutLoop([this] { EXPECT_TRUE(absl::IsFailedPrecondition(Write("too late"))); });
}

TEST_F(BlockingTest, FirstMessageAndLargeOnesAreUnderWayWhenWriteReturns) {
  const std::string large(100000, 'x');
  OnLoop([this] { OpenWindow(kHuge); });
  Beside([this, &large] {
    EXPECT_EQ(Write("first"), absl::OkStatus());
    EXPECT_EQ(wire_.sent.size(), 1u);
    EXPECT_EQ(Write("second"), absl::OkStatus());
    EXPECT_EQ(Write(large), absl::OkStatus());
    EXPECT_EQ(wire_.sent.size(), 3u);
  });
  EXPECT_EQ(wire_.sent, (std::vector<std::string>{"first", "second", large}));
}

TEST_F(BlockingTest, WriterWhoIsFarAheadOfTheWindowWaits) {
  static constexpr size_t kBytes = 1000;
  std::atomic<uint64_t> written = 0;
  std::thread writer([this, &written] {
    while (Write(std::string(kBytes, '.')).ok()) ++written;
  });
  static constexpr uint64_t kMayBeSent = kStreamWindowInitial / (kBytes + kStreamMessageOverhead) + 1;
  loop_->DriveUntil([this] { return wire_.sent.size() >= kMayBeSent; });
  Close();
  writer.join();
  EXPECT_EQ(wire_.sent.size(), kMayBeSent);
  EXPECT_GE(written, kMayBeSent);
  EXPECT_LE(written, kMayBeSent + 2 * kWriteBehindBytes / kBytes + 2);
}

TEST_F(BlockingTest, WindowThatOpensLetsTheWriterGoOn) {
  static constexpr uint64_t kMessages = 500;
  std::thread writer([this] {
    for (uint64_t i = 0; i < kMessages; ++i) EXPECT_EQ(Write(std::string(1000, '.')), absl::OkStatus());
    writes_->Flush();
    EXPECT_EQ(wire_.sent.size(), kMessages) << "nothing waits behind Flush";
    loop_->Post([this] { stream_->Close(MessageStream::Unread::kDrop); });
  });
  loop_->DriveUntil([this] { return wire_.sent.size() > 50; });
  OnLoop([this] { OpenWindow(kHuge); });
  loop_->DriveUntil([this] { return stream_->over(); });
  loop_->RunUntilIdle();
  writer.join();
}

TEST_F(BlockingTest, SecondReaderAndSecondWriterAreRefused) {
  std::thread reader([this] { EXPECT_EQ(Next(), "for the first"); });
  std::thread writer([this] { EXPECT_EQ(Write("the first's"), absl::OkStatus()); });
  while (loop_->posted() < 3) std::this_thread::yield();  // Both are at it, and the loop does not run.
  EXPECT_EQ(Next(), "-");
  EXPECT_TRUE(absl::IsFailedPrecondition(Write("the second's")));
  OnLoop([this] { Deliver("for the first"); });
  loop_->DriveUntil([this] { return wire_.sent.size() == 1; });
  loop_->RunUntilIdle();
  reader.join();
  writer.join();
}

TEST_F(BlockingTest, WriterLearnsThatTheCallIsOver) {
  Beside([this] { EXPECT_EQ(Write("0"), absl::OkStatus()); });
  WithoutLoop([this] { EXPECT_EQ(Write("copied, but never sent"), absl::OkStatus()); });
  stream_->Close(MessageStream::Unread::kDrop);
  loop_->RunUntilIdle();
  WithoutLoop([this] {
    EXPECT_TRUE(absl::IsCancelled(Write("1")));
    writes_->Flush();
  });
  EXPECT_EQ(wire_.sent, std::vector<std::string>{"0"});
}

class Counter : public MessageObserver {
 public:
  void OnSend(const google::protobuf::MessageLite& message) override { Note(&sent, message); }
  void OnReceived(const google::protobuf::MessageLite& message) override { Note(&received, message); }

  std::vector<std::string> sent;
  std::vector<std::string> received;

 private:
  static void Note(std::vector<std::string>* seen, const google::protobuf::MessageLite& message) {
    seen->push_back(static_cast<const StringValue&>(message).value());
  }
};

TEST_F(BlockingTest, ObserverSeesEachMessage) {
  const auto observer = std::make_shared<Counter>();
  OnLoop([this, &observer] {
    stream_->set_observer(observer);
    for (const char* value : {"a", "b", "c"}) Deliver(value);
  });
  Beside([this] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Write(Next()), absl::OkStatus());
    writes_->Flush();
  });
  EXPECT_EQ(observer->received, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(observer->sent, (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace verbena::rpc
