// One end of a stream whose wire keeps what it is given, and a loop that runs only while the test drives it, for the
// threads that read ahead of themselves and write behind themselves.

#ifndef VERBENA_RPC_BLOCKING_TESTING_BLOCKING_FIXTURE_H_
#define VERBENA_RPC_BLOCKING_TESTING_BLOCKING_FIXTURE_H_

#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
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

using google::protobuf::StringValue;

inline StringValue TextOf(std::string value) {
  StringValue text;
  text.set_value(std::move(value));
  return text;
}

// In memory that lasts as long as a share of it.
class BytesPayload : public transport::ReceivedPayload {
 public:
  explicit BytesPayload(std::string bytes) : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}
  absl::Span<const std::byte> bytes() const override {
    return {reinterpret_cast<const std::byte*>(bytes_->data()), bytes_->size()};
  }
  absl::Cord Share(size_t offset) override {
    return absl::MakeCordFromExternal(absl::string_view(*bytes_).substr(offset), [kept = bytes_] {});
  }
  std::weak_ptr<const std::string> memory() const { return bytes_; }

 private:
  const std::shared_ptr<const std::string> bytes_;
};

// Sends at once what may leave, and by a task of the loop, as at the turn's end, what may not.
class KeepingWire : public StreamWire {
 public:
  explicit KeepingWire(testing::ManualLoop* loop) : loop_(*loop) {}

  uint64_t SendMessage(const StreamHeader&, transport::PayloadSource* payload, absl::Cord attachment,
                       bool may_leave) override {
    if (may_leave) {
      Write(*payload);
      return transport::Connection::kLeft;
    }
    const uint64_t id = ++sends_;
    loop_.Post([this, id, payload, attachment = std::move(attachment)] {
      if (stream == nullptr) return;
      if (cancelled_.contains(id)) return stream->OnSent(payload, transport::SendOutcome::kNotSent);
      Write(*payload);
      if (!attachment.empty()) sent.back() += absl::StrCat(" + ", std::string(attachment));
      payload->OnWritten();
      stream->OnSent(payload, transport::SendOutcome::kDelivered);
    });
    return id;
  }
  void SendEnd(uint64_t count) override { end = count; }
  void SendWindow(uint64_t limit) override { window = limit; }
  void CancelSend(uint64_t id) override { cancelled_.insert(id); }
  void Fail(const absl::Status& status) override {
    failure = status;
    stream->Close(MessageStream::Unread::kDrop);
  }

  MessageStream* stream = nullptr;
  std::vector<std::string> sent;  // The messages' values, "value + attachment" where there is one.
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
  std::set<uint64_t> cancelled_;
};

class BlockingFixture : public ::testing::Test {
 protected:
  BlockingFixture() {
    wire_.stream = stream_.get();
    OnLoop([this] {
      stream_->Attach(&wire_);
      stream_->OpenWrites();
    });
  }
  ~BlockingFixture() override { Close(); }

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
    EXPECT_EQ(TryDeliver(body, attachment), absl::OkStatus());
  }
  absl::Status TryDeliver(const std::string& body, const std::string& attachment = "") {
    std::array<std::byte, kStreamHeaderBytes> header;
    EncodeStreamHeader({delivered_++, body.size()}, header.data());
    BytesPayload payload(absl::StrCat(body, attachment));
    delivered_memory_ = payload.memory();
    return stream_->OnInbound(MessageKind::kStreamMessage, header, payload);
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
  absl::Status Write(const std::string& value, absl::Cord attachment = {}) {
    return writes_->Write(TextOf(value), std::move(attachment));
  }

  std::unique_ptr<testing::ManualLoop> loop_ = std::make_unique<testing::ManualLoop>();
  KeepingWire wire_{loop_.get()};
  std::shared_ptr<transport::LoopHandle> handle_ = std::make_shared<transport::LoopHandle>(loop_.get());
  std::shared_ptr<MessageStream> stream_ = std::make_shared<MessageStream>(handle_, StreamOptions());
  std::shared_ptr<ReadAhead> reads_ = std::make_shared<ReadAhead>(stream_);
  std::shared_ptr<WriteBehind> writes_ = std::make_shared<WriteBehind>(stream_);
  absl::Cord attachment_;
  uint64_t delivered_ = 0;
  std::weak_ptr<const std::string> delivered_memory_;  // Of the last.
};

class SeenMessages : public MessageObserver {
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

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_TESTING_BLOCKING_FIXTURE_H_
