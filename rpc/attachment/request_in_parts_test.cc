// Calls whose handlers begin while the request's attachment still comes.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rpc/attachment/arriving_attachment.h"
#include "rpc/co_handler.h"
#include "rpc/testing/call_fixture.h"

namespace verbena::rpc {
namespace {

using testing::LambdaService;
using testing::TestCall;
using testing::Text;

constexpr absl::string_view kRead = "test.Lambda/Read";
constexpr absl::string_view kBegin = "test.Lambda/Begin";

class RequestInParts : public testing::CallFixture {
 protected:
  static constexpr size_t kBytes = 100'000;

  RequestInParts() {
    // Answers with the parts that it was given: "50000+50000 of 100000", or with what a read has failed by.
    service_
        .AddCallback("Read", [](ServerContext* context, const Text&, Text* reply,
                                Responder done) { ReadOn(context->attachment_reader(), reply, std::move(done)); })
        .ReadInParts("Read");
    // Keeps all for the test.
    service_
        .AddCallback("Begin",
                     [this](ServerContext* context, const Text&, Text* reply, Responder done) {
                       held_.push_back({context, reply, std::move(done)});
                     })
        .ReadInParts("Begin");
  }

  static void ReadOn(AttachmentReader reader, Text* reply, Responder done) {
    const auto finish = std::make_shared<Responder>(std::move(done));
    AttachmentReader(reader).Read([reader, reply, finish](absl::StatusOr<absl::Cord> part) {
      if (!part.ok()) return (*finish)(part.status());
      if (part->empty()) {
        reply->set_value(absl::StrCat(reply->value(), " of ", reader.size()));
        return (*finish)(absl::OkStatus());
      }
      EXPECT_EQ(*part, std::string(part->size(), 'a'));
      reply->set_value(absl::StrCat(reply->value(), reply->value().empty() ? "" : "+", part->size()));
      ReadOn(reader, reply, std::move(*finish));
    });
  }

  std::shared_ptr<TestCall> CallWithAttachment(absl::string_view method, std::string text, size_t bytes = kBytes) {
    auto call = MakeCall(std::move(text));
    call->context.set_attachment(absl::Cord(std::string(bytes, 'a')));
    StartCall(method, *call);
    loop_.RunUntilIdle();
    return call;
  }
  // A call whose handler has begun, and has half of the attachment.
  std::shared_ptr<TestCall> Begun() {
    Start();
    network_.latest_server()->HoldLastParts();
    auto call = CallWithAttachment(kBegin, "");
    EXPECT_EQ(held_.size(), 1u);
    return call;
  }
  void LetTheRestCome() {
    network_.latest_server()->ReleaseLastParts();
    loop_.RunUntilIdle();
  }
  // How many bytes the next read gives at once; or its status, none if it waits.
  std::optional<std::string> ReadNow() {
    std::optional<std::string> read;
    held_.at(0).context->attachment_reader().Read([&](absl::StatusOr<absl::Cord> part) {
      read = part.ok() ? std::to_string(part->size()) : std::string(absl::StatusCodeToString(part.status().code()));
    });
    return read;
  }
  void Finish(absl::Status status = absl::OkStatus()) {
    std::exchange(held_.at(0).done, nullptr)(std::move(status));
    loop_.RunUntilIdle();
  }
};

TEST_F(RequestInParts, AHandlerBeginsWhileTheRestComes) {
  const auto call = Begun();
  EXPECT_EQ(ReadNow(), "50000");
  EXPECT_EQ(held_.at(0).context->attachment().size(), kBytes / 2);
  EXPECT_EQ(held_.at(0).context->attachment_reader().size(), kBytes);
  LetTheRestCome();
  EXPECT_EQ(ReadNow(), "50000");
  EXPECT_EQ(ReadNow(), "0");
  Finish();
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(RequestInParts, AReaderIsGivenEachPartAsItComes) {
  Start();
  const auto call = CallWithAttachment(kRead, "");
  ASSERT_EQ(call->status(), absl::OkStatus());
  EXPECT_EQ(call->reply.value(), "50000+50000 of 100000");
}

TEST_F(RequestInParts, OfASmallOneAllIsThere) {
  Start();
  EXPECT_EQ(CallWithAttachment(kRead, "", 10)->reply.value(), "10 of 10");
  EXPECT_EQ(CallWithAttachment(kRead, "", 0)->reply.value(), " of 0");
}

TEST_F(RequestInParts, AHandlerBeginsWhenItsMessageIsThere) {
  Start();
  const auto call = CallWithAttachment(kRead, std::string(kBytes, 'm'), kBytes / 2);  // Longer than the first half.
  EXPECT_EQ(call->reply.value(), "50000 of 50000");
}

TEST_F(RequestInParts, ACallsContextIsCleanForTheNext) {
  Start();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(CallWithAttachment(kRead, "")->reply.value(), "50000+50000 of 100000");
    EXPECT_EQ(CallWithAttachment(kRead, "", 20)->reply.value(), "20 of 20");
    EXPECT_EQ(Call(kRead)->reply.value(), " of 0");
  }
}

TEST_F(RequestInParts, OfAnyOtherMethodTheFirstReadGivesAll) {
  service_.AddCallback("Other", [](ServerContext* context, const Text&, Text* reply, Responder done) {
    ReadOn(context->attachment_reader(), reply, std::move(done));
  });
  Start();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(CallWithAttachment("test.Lambda/Other", "")->reply.value(), "100000 of 100000");
  }
}

TEST_F(RequestInParts, WhatAHandlerHasNoUseForIsNotFetched) {
  const auto call = Begun();
  Finish(absl::InvalidArgumentError("not such bytes"));
  ExpectFailed(*call, absl::StatusCode::kInvalidArgument, Certainty::kExecuted, "not such bytes");
  LetTheRestCome();
  const auto next = CallWithAttachment(kRead, "");
  EXPECT_EQ(next->reply.value(), "50000+50000 of 100000");
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(RequestInParts, AReadThatWaitsWhenTheHandlerFinishesIsDropped) {
  const auto call = Begun();
  ReadNow();
  const auto held = std::make_shared<int>();
  held_.at(0).context->attachment_reader().Read(
      [held](absl::StatusOr<absl::Cord>) { FAIL() << "the handler is done"; });
  Finish();
  EXPECT_EQ(held.use_count(), 1);
  LetTheRestCome();
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(RequestInParts, AReadFailsWhenTheClientCancels) {
  const auto call = Begun();
  ReadNow();
  absl::Status read;
  held_.at(0).context->attachment_reader().Read([&](absl::StatusOr<absl::Cord> part) { read = part.status(); });
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(read.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
  LetTheRestCome();
  Finish(read);
  EXPECT_EQ(call->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(RequestInParts, AHandlerMayFinishFromWithinTheReadThatFails) {
  Start();
  network_.latest_server()->HoldLastParts();
  const auto call = CallWithAttachment(kRead, "");
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

// Its reader is not told: the call has ended before it can be.
TEST_F(RequestInParts, AHandlerMayFinishFromWithinTheCancelCallback) {
  const auto call = Begun();
  ReadNow();
  held_.at(0).context->attachment_reader().Read([](absl::StatusOr<absl::Cord>) { FAIL() << "the handler is done"; });
  held_.at(0).context->SetCancelCallback([this] { std::exchange(held_.at(0).done, nullptr)(absl::OkStatus()); });
  call->context.TryCancel();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(RequestInParts, AReadFailsWhenTheConnectionBreaks) {
  const auto call = Begun();
  ReadNow();
  network_.Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(ReadNow(), "UNAVAILABLE");
  EXPECT_TRUE(held_.at(0).context->IsCancelled());
  Finish();
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kOutcomeUnknown, "the link broke");
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(RequestInParts, AReadThatThrowsWithinTheHandlerEndsTheCall) {
  service_
      .AddCallback(
          "Throw",
          [](ServerContext* context, const Text&, Text*, Responder) {
            context->attachment_reader().Read([](absl::StatusOr<absl::Cord>) { throw std::runtime_error("no"); });
          })
      .ReadInParts("Throw");
  Start();
  ExpectFailed(*CallWithAttachment("test.Lambda/Throw", ""), absl::StatusCode::kInternal, Certainty::kExecuted, "no");
}

TEST_F(RequestInParts, AReadFailsWhenTheRestIsDamagedOrCannotBeRead) {
  const std::pair<absl::Status, std::string> failures[] = {
      {absl::DataLossError("its identity does not match"), "DATA_LOSS"},
      {absl::UnavailableError("an RDMA READ of the message failed"), "UNAVAILABLE"},
      {absl::InvalidArgumentError("protocol error"), "UNAVAILABLE"},
  };
  for (const auto& [failure, code] : failures) {
    held_.clear();
    const auto call = Begun();
    network_.latest_server()->FailParts(failure);
    EXPECT_EQ(ReadNow(), "50000") << "what had come";
    EXPECT_EQ(ReadNow(), code);
    EXPECT_EQ(ReadNow(), code) << "again";
    Finish(failure);
    EXPECT_EQ(call->status().code(), failure.code());
    EXPECT_EQ(server_->tally().calls(), 0u);
    channel_.reset();
    StopServer();
  }
}

// Its request was delivered, as far as it was wanted: the call waits for its answer as long as any, and is not made
// again.
TEST_F(RequestInParts, OfAHandlerThatIsDoneEarlyTheAnswerMayBeLate) {
  const auto call = Begun();
  network_.latest_server()->HoldExports();
  held_.at(0).reply->set_value(std::string(kBytes, 'r'));
  Finish();
  loop_.Advance(absl::Seconds(5));
  EXPECT_FALSE(call->done());
  network_.latest_server()->ReleaseExports();
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(RequestInParts, OfAHandlerThatIsDoneEarlyALostAnswerIsInDoubt) {
  const auto call = Begun();
  network_.latest_server()->Stall();
  Finish();
  network_.Sever();
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kUnavailable, Certainty::kOutcomeUnknown, "the link broke");
}

// What it writes, too, while the rest comes.
TEST_F(RequestInParts, OfAMethodWhoseServerStreamsItIsReadTheSameWay) {
  std::shared_ptr<MessageStream> writing, reading;
  service_
      .AddStream(
          "Stream", MethodKind::kServerStreaming,
          [&](ServerContext* context, const Text&, Text* reply, std::shared_ptr<MessageStream> stream, Responder done) {
            writing = std::move(stream);
            held_.push_back({context, reply, std::move(done)});
          })
      .ReadInParts("Stream");
  Start();
  network_.latest_server()->HoldLastParts();
  const auto call = MakeCall("");
  call->context.set_attachment(absl::Cord(std::string(kBytes, 'a')));
  UserCall made;
  made.method = "test.Lambda/Stream";
  made.kind = MethodKind::kServerStreaming;
  made.context = &call->context;
  made.request = &call->request;
  made.done = [call](absl::Status status) { call->completions.push_back(std::move(status)); };
  channel_->core().StartStreaming(std::move(made), [&](const auto& stream) { reading = stream; });
  loop_.RunUntilIdle();
  ASSERT_EQ(held_.size(), 1u);
  EXPECT_EQ(ReadNow(), "50000");
  Text written, heard;
  written.set_value("half is there");
  writing->Write(&written, {}, [](absl::Status) {});
  reading->Read(&heard, nullptr, [](absl::Status) {});
  loop_.RunUntilIdle();
  EXPECT_EQ(heard.value(), "half is there");
  LetTheRestCome();
  EXPECT_EQ(ReadNow(), "50000");
  EXPECT_EQ(ReadNow(), "0");
  Finish();
  reading->Read(&heard, nullptr, [](absl::Status) {});
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(RequestInParts, AReadFailsWhenTheServerGoes) {
  const auto call = Begun();
  ReadNow();
  absl::Status read;
  held_.at(0).context->attachment_reader().Read([&](absl::StatusOr<absl::Cord> part) { read = part.status(); });
  StopServer();
  loop_.RunUntilIdle();
  EXPECT_EQ(read.code(), absl::StatusCode::kCancelled);
  Finish();
}

TEST_F(RequestInParts, ACallThatIsCancelledBeforeItsMessageIsThereNeverRuns) {
  Start();
  network_.latest_server()->HoldLastParts();
  const auto call = CallWithAttachment(kBegin, std::string(kBytes, 'm'), 10);
  call->context.TryCancel();
  loop_.RunUntilIdle();
  LetTheRestCome();
  EXPECT_TRUE(held_.empty());
  EXPECT_EQ(call->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(RequestInParts, ACoroutineReadsThem) {
  service_
      .AddCoroutine("CoRead",
                    [](ServerContext* context, const Text*, Text* reply) -> Task<absl::Status> {
                      AttachmentReader reader = context->attachment_reader();
                      while (true) {
                        const absl::StatusOr<absl::Cord> part = co_await reader.CoRead();
                        if (!part.ok()) co_return part.status();
                        if (part->empty()) co_return absl::OkStatus();
                        reply->set_value(absl::StrCat(reply->value(), part->size(), ";"));
                      }
                    })
      .ReadInParts("CoRead");
  Start();
  EXPECT_EQ(CallWithAttachment("test.Lambda/CoRead", "")->reply.value(), "50000;50000;");
}

TEST(ReadAttachmentInParts, OfAMethodThatIsNotThereIsAnError) {
  LambdaService service;
  service.ReadInParts("Missing");
  const absl::Status status = MethodRegistry::Create({&service}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("test.Lambda wants to read the attachment of Missing"));
}

TEST(ReadAttachmentInParts, OfAMethodWhoseClientStreamsIsAnError) {
  LambdaService service;
  service
      .AddStream("Chat", MethodKind::kBidiStreaming,
                 [](ServerContext*, const Text&, Text*, std::shared_ptr<MessageStream>, Responder) {})
      .ReadInParts("Chat");
  const absl::Status status = MethodRegistry::Create({&service}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("its client streams"));
}

}  // namespace
}  // namespace verbena::rpc
