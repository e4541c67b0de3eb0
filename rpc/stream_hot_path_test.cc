// What a message of a stream costs on this floor once everything has grown: no copy, no allocation, no posted task. One
// end of a stream whose wire only keeps what it is given.

#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/stream_header.h"
#include "rpc/message_stream.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/span_payload.h"
#include "tests/allocation_count/allocation_count.h"
#include "transport/connection.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {
namespace {

using google::protobuf::StringValue;

constexpr uint64_t kWarmUp = 2000;
constexpr uint64_t kMeasured = 2000;

// Lets leave what may. The rest is written when the test says so, as by the turn's end.
class KeepingWire : public StreamWire {
 public:
  uint64_t SendMessage(const StreamHeader& header, transport::PayloadSource* payload, absl::Cord,
                       bool may_leave) override {
    last_number = header.number;
    if (!may_leave) {
      waiting.push_back(payload);
      return waiting.size();
    }
    ++left;
    Write(*payload);
    return transport::Connection::kLeft;
  }
  void Write(transport::PayloadSource& payload) {
    body_bytes = payload.size();
    payload.WriteTo(body.data());
  }
  void SendEnd(uint64_t) override {}
  void SendWindow(uint64_t) override { ++windows; }
  void CancelSend(uint64_t) override {}
  void Fail(const absl::Status& status) override { ADD_FAILURE() << status; }

  std::vector<transport::PayloadSource*> waiting;
  std::array<std::byte, 512> body;
  size_t body_bytes = 0;
  uint64_t last_number = 0;
  uint64_t left = 0;
  uint64_t windows = 0;
};

class StreamHotPathTest : public ::testing::Test {
 protected:
  StreamHotPathTest() {
    OnLoop([this] {
      stream_->Attach(&wire_);
      stream_->OpenWrites();
    });
    sent_.set_value(std::string(64, 'v'));
  }
  ~StreamHotPathTest() override {
    OnLoop([this] { stream_->Close(MessageStream::Unread::kDrop); });
  }

  // As the transport and its user do, and then whatever was posted.
  void OnLoop(absl::FunctionRef<void()> what) {
    loop_.Post([what] { what(); });
    loop_.RunUntilIdle();
  }
  // The peer's next message, which is sent_.
  void Deliver() {
    std::array<std::byte, 128> body;
    const size_t bytes = sent_.ByteSizeLong();
    sent_.SerializeToArray(body.data(), static_cast<int>(body.size()));
    std::array<std::byte, kStreamHeaderBytes> header;
    EncodeStreamHeader({delivered_++, bytes}, header.data());
    testing::SpanPayload payload(absl::MakeConstSpan(body).first(bytes));
    EXPECT_TRUE(stream_->OnInbound(MessageKind::kStreamMessage, header, payload).ok());
  }
  // The window for what is written.
  void OpenWindow() {
    std::array<std::byte, kStreamHeaderBytes> header;
    EncodeStreamHeader({0, uint64_t{1} << 40}, header.data());
    testing::SpanPayload nothing({});
    EXPECT_TRUE(stream_->OnInbound(MessageKind::kStreamWindow, header, nothing).ok());
  }
  // What waits for it is written.
  void EndTurn() {
    transport::PayloadSource* const last = wire_.waiting.back();
    wire_.Write(*last);
    last->OnWritten();
  }
  void ReadAndEcho() {
    stream_->Read(&message_, nullptr, [this](const absl::Status& read) {
      if (read.ok()) stream_->Write(&message_, {}, [this](const absl::Status&) { ReadAndEcho(); });
    });
  }
  void WriteForEver() {
    stream_->Write(&message_, {}, [this](const absl::Status& written) {
      if (written.ok()) WriteForEver();
    });
  }

  testing::ManualLoop loop_;
  KeepingWire wire_;
  std::shared_ptr<MessageStream> stream_ =
      std::make_shared<MessageStream>(std::make_shared<transport::LoopHandle>(&loop_), StreamOptions());
  StringValue sent_;
  StringValue message_;
  uint64_t delivered_ = 0;
};

TEST_F(StreamHotPathTest, AnEchoIsParsedInPlaceAndLeavesAtOnceWithoutAllocations) {
  OnLoop([this] {
    OpenWindow();
    ReadAndEcho();
    for (uint64_t i = 0; i < kWarmUp; ++i) Deliver();
  });
  const uint64_t windows = wire_.windows;
  OnLoop([this] {
    const size_t posted = loop_.posted();
    const uint64_t allocations = testing::AllocationsOf([this] {
      for (uint64_t i = 0; i < kMeasured; ++i) Deliver();
    });
    EXPECT_EQ(allocations, 0u);
    EXPECT_EQ(loop_.posted(), posted);
  });
  EXPECT_EQ(wire_.left, kWarmUp + kMeasured);
  EXPECT_EQ(wire_.last_number, kWarmUp + kMeasured - 1);
  EXPECT_EQ(message_.value(), sent_.value());
  EXPECT_EQ(wire_.body_bytes, sent_.ByteSizeLong());
  EXPECT_GT(wire_.windows, windows) << "the peer may send on";
}

TEST_F(StreamHotPathTest, AMessageOfTheTurnsEndIsReportedSentWithoutAllocations) {
  OnLoop([this] {
    OpenWindow();
    WriteForEver();
  });
  ASSERT_EQ(wire_.waiting.size(), 1u);
  transport::PayloadSource* const first = wire_.waiting.front();
  OnLoop([this] { EndTurn(); });
  OnLoop([this, first] {
    EXPECT_EQ(testing::AllocationsOf([&] { stream_->OnSent(first, transport::SendOutcome::kDelivered); }), 0u);
  });
}

TEST_F(StreamHotPathTest, AWriterWhoDoesNotStopLetsTheTurnEnd) {
  OnLoop([this] {
    OpenWindow();
    WriteForEver();
  });
  ASSERT_EQ(wire_.waiting.size(), 1u) << "the first, which nobody completes in place, is for the turn's end";
  EXPECT_EQ(wire_.left, 0u);
  OnLoop([this] { EndTurn(); });
  ASSERT_EQ(wire_.waiting.size(), 2u);
  const uint64_t in_a_row = wire_.left;
  EXPECT_GT(in_a_row, 8u);
  EXPECT_LT(in_a_row, 64u);
  OnLoop([&] {
    EndTurn();
    EXPECT_EQ(wire_.left, in_a_row) << "the next is for a task";
  });
  EXPECT_GT(wire_.left, in_a_row + 8);
  EXPECT_EQ(wire_.waiting.size(), 3u);
}

TEST_F(StreamHotPathTest, NorDoesHeAllocateForTheTaskByWhichHeGoesOn) {
  OnLoop([this] {
    OpenWindow();
    WriteForEver();
  });
  wire_.waiting.reserve(kWarmUp);
  uint64_t tasks = 0;
  uint64_t allocations = 0;
  for (uint64_t turn = 0; turn < 320; ++turn) {
    OnLoop([&] {
      const size_t posted = loop_.posted();
      allocations += testing::AllocationsOf([this] { EndTurn(); });
      tasks += loop_.posted() - posted;
    });
  }
  EXPECT_GT(tasks, 100u);
  EXPECT_LT(allocations, tasks / 8) << "but for the test loop's own queue";
}

}  // namespace
}  // namespace verbena::rpc
