// Initial metadata of calls that stream, ahead of their messages.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rpc/co_client_stream.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/when_any.h"
#include "rpc/reactors.h"
#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::StreamCall;
using testing::Text;

class InitialMetadataTest : public testing::StreamFixture {
 protected:
  void Await(StreamCall& call) {
    call.stream->AwaitInitialMetadata([this](absl::Status status) { waits_.push_back(std::move(status)); });
    loop_.RunUntilIdle();
  }
  void Add(const std::string& value) {
    EXPECT_EQ(served().context->AddInitialMetadata("color", value), absl::OkStatus());
  }
  void WriteOne() {
    served().Write("a message");
    loop_.RunUntilIdle();
  }
  void Finish(absl::Status status = absl::OkStatus()) {
    served().done(std::move(status));
    loop_.RunUntilIdle();
  }
  static std::vector<absl::string_view> Colors(const ClientContext& context) {
    return context.initial_metadata().FindAll("color");
  }

  std::vector<absl::Status> waits_;
};

TEST_F(InitialMetadataTest, LeavesAheadOfTheFirstMessage) {
  Start();
  StreamCall* const call = Begin(MethodKind::kBidiStreaming);
  Add("red");
  EXPECT_TRUE(served().context->AddTrailingMetadata("shape", "round").ok());
  call->ReadAll();
  WriteOne();
  EXPECT_THAT(Colors(call->context), ElementsAre("red"));
  EXPECT_THAT(call->received, ElementsAre("a message"));
  EXPECT_TRUE(call->context.trailing_metadata().empty());
  Finish();
  EXPECT_THAT(Colors(call->context), ElementsAre("red"));
  EXPECT_EQ(call->context.trailing_metadata().Find("shape"), "round");
}

TEST_F(InitialMetadataTest, LeavesByItselfWhenTheHandlerSaysSo) {
  for (const MethodKind kind : {MethodKind::kClientStreaming, MethodKind::kServerStreaming}) {
    Start();
    StreamCall* const call = Begin(kind);
    waits_.clear();
    Await(*call);
    EXPECT_THAT(waits_, IsEmpty());
    Add("red");
    served().context->SendInitialMetadata();
    loop_.RunUntilIdle();
    EXPECT_THAT(waits_, ElementsAre(absl::OkStatus()));
    EXPECT_THAT(Colors(call->context), ElementsAre("red"));
    served().context->SendInitialMetadata();  // It has left.
    Finish();
    EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
    EXPECT_THAT(Colors(call->context), ElementsAre("red"));
    channel_.reset();
    StopServer();
  }
}

TEST_F(InitialMetadataTest, SaidWhileThereIsNoneTheClientKnowsThat) {
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Await(*call);
  served().context->SendInitialMetadata();
  loop_.RunUntilIdle();
  EXPECT_THAT(waits_, ElementsAre(absl::OkStatus()));
  EXPECT_TRUE(call->context.initial_metadata().empty());
}

TEST_F(InitialMetadataTest, ComesAlsoWithAFirstMessageThatIsTooLarge) {
  options_.transport.message_bytes_max = 1000;
  for (const size_t bytes : {2000, 20'000}) {  // Eager; announced.
    Start();
    StreamCall* const call = Begin(MethodKind::kServerStreaming);
    Add("red");
    served().Write(std::string(bytes, '.'));
    loop_.RunUntilIdle();
    ASSERT_EQ(call->completions.size(), 1u);
    EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0]));
    EXPECT_THAT(Colors(call->context), ElementsAre("red"));
    channel_.reset();
    StopServer();
  }
}

TEST_F(InitialMetadataTest, IsRefusedOnceItHasLeft) {
  Start();
  Begin(MethodKind::kServerStreaming);
  WriteOne();
  EXPECT_TRUE(absl::IsFailedPrecondition(served().context->AddInitialMetadata("color", "late")));
  EXPECT_TRUE(served().context->AddTrailingMetadata("color", "in time").ok());
}

TEST_F(InitialMetadataTest, WithoutMessagesItComesWithTheEnd) {
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Await(*call);
  Add("red");
  Finish(absl::NotFoundError("nothing to list"));
  ASSERT_EQ(waits_.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(waits_[0]));
  EXPECT_THAT(Colors(call->context), ElementsAre("red"));
}

TEST_F(InitialMetadataTest, FirstMessageEndsTheWaitAsWell) {
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Await(*call);
  WriteOne();
  EXPECT_THAT(waits_, ElementsAre(absl::OkStatus()));
  Await(*call);
  EXPECT_THAT(waits_, ElementsAre(absl::OkStatus(), absl::OkStatus()));
}

TEST_F(InitialMetadataTest, OneWaitAtATimeAndACancelEndsIt) {
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Await(*call);
  Await(*call);
  ASSERT_EQ(waits_.size(), 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(waits_[0]));
  call->context.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_EQ(waits_.size(), 2u);
  EXPECT_TRUE(absl::IsCancelled(waits_[1]));
}

TEST_F(InitialMetadataTest, LeavesWithAFirstMessageThatIsFetched) {
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Await(*call);
  network_.latest_client()->HoldFetches();
  Add("red");
  served().Write(std::string(500'000, 'x'));
  loop_.RunUntilIdle();
  EXPECT_THAT(waits_, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(Colors(call->context), ElementsAre("red"));
  network_.latest_client()->ReleaseFetches();
  Finish();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(Colors(call->context), ElementsAre("red"));
}

TEST_F(InitialMetadataTest, SaidAheadAndWithTheFirstMessageItCountsOnce) {
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Add("red");
  served().context->SendInitialMetadata();
  EXPECT_TRUE(absl::IsFailedPrecondition(served().context->AddInitialMetadata("color", "late")));
  WriteOne();
  Finish();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_THAT(Colors(call->context), ElementsAre("red"));
}

TEST_F(InitialMetadataTest, MoreThanAHeaderHoldsEndsTheCallInWords) {
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Add(std::string(9000, 'r'));
  WriteOne();
  EXPECT_TRUE(call->context.initial_metadata().empty());
  Finish();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0])) << call->completions[0];
}

TEST_F(InitialMetadataTest, MoreThanAListHoldsEndsTheCallInWordsWhateverRoomTheHeaderHas) {
  network_.set_connection_options({.eager_bytes_max = 40'000, .header_bytes_max = 20'000});
  Start();
  StreamCall* const call = Begin(MethodKind::kServerStreaming);
  Add(std::string(9000, 'r'));
  WriteOne();
  Finish();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(call->completions[0])) << call->completions[0];
}

TEST_F(InitialMetadataTest, SaidByItselfItLeavesTheResponsesRoomToTheOther) {
  network_.set_connection_options({.header_bytes_max = 1024});
  Start();
  StreamCall* const call = Begin(MethodKind::kClientStreaming);
  Add(std::string(700, 'r'));
  served().context->SendInitialMetadata();
  EXPECT_TRUE(served().context->AddTrailingMetadata("shape", std::string(700, 's')).ok());
  Finish();
  EXPECT_THAT(call->completions, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(Colors(call->context).size(), 1u);
  EXPECT_TRUE(call->context.trailing_metadata().Find("shape").has_value());
}

TEST_F(InitialMetadataTest, UnaryHandlersHaveTheirOneResponse) {
  Start();
  const auto call = Call("test.Lambda/Hold");
  held_.at(0).context->SendInitialMetadata();
  EXPECT_TRUE(held_[0].context->AddInitialMetadata("color", "red").ok());
  held_[0].done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_THAT(Colors(call->context), ElementsAre("red"));
}

class NotingReactor : public ClientReadReactor<Text> {
 public:
  explicit NotingReactor(const ClientContext* context) : context_(*context) {}
  void OnReadInitialMetadataDone(bool ok) override {
    notes.push_back(ok ? "initial " + std::string(context_.initial_metadata().Find("color").value_or("none"))
                       : "no initial");
  }
  void OnReadDone(bool ok) override {
    notes.push_back(ok ? incoming.value() : "read failed");
    if (ok) StartRead(&incoming);
  }
  void OnDone(const absl::Status& status) override { notes.push_back(std::string(status.message())); }

  Text incoming;
  std::vector<std::string> notes;

 private:
  const ClientContext& context_;
};

TEST_F(InitialMetadataTest, ReactorHearsOfItFirst) {
  Start();
  ClientContext context;
  Text request;
  NotingReactor reactor(&context);
  reactor.Bind(channel_.get(), {"test.Lambda/server-streaming", MethodKind::kServerStreaming}, &context, &request,
               nullptr);
  reactor.StartRead(&reactor.incoming);
  reactor.StartCall();
  loop_.RunUntilIdle();
  Add("red");
  WriteOne();
  EXPECT_THAT(reactor.notes, ElementsAre("initial red", "a message"));
  Finish(absl::NotFoundError("no more"));
  EXPECT_THAT(reactor.notes, ElementsAre("initial red", "a message", "read failed", "no more"));
}

Task<void> NoteInitial(Channel* channel, ClientContext* context, std::vector<std::string>* notes) {
  CoClientReader<Text> reader(channel, {"test.Lambda/server-streaming", MethodKind::kServerStreaming}, context, Text());
  const bool there = co_await reader.WaitForInitialMetadata();
  notes->push_back(there ? std::string(context->initial_metadata().Find("color").value_or("none")) : "not there");
  const absl::Status end = co_await reader.Finish();
  const bool still = co_await reader.WaitForInitialMetadata();
  notes->push_back(still ? std::string(context->initial_metadata().Find("color").value_or("none")) : "not there");
  notes->push_back(end.ok() ? std::string(context->initial_metadata().Find("color").value_or("none")) : "failed");
}

TEST_F(InitialMetadataTest, CoroutineAwaitsIt) {
  Start();
  ClientContext context;
  std::vector<std::string> notes;
  bool done = false;
  RunningTask running;
  loop_.Post([&] {
    running = StartTask(NoteInitial(channel_.get(), &context, &notes), [&done](absl::Status) { done = true; });
  });
  loop_.RunUntilIdle();
  EXPECT_THAT(notes, IsEmpty());
  Add("red");
  served().context->SendInitialMetadata();
  loop_.RunUntilIdle();
  EXPECT_THAT(notes, ElementsAre("red"));
  Finish();
  EXPECT_THAT(notes, ElementsAre("red", "red", "red"));
  EXPECT_TRUE(done);
}

Task<void> WaitTwice(Channel* channel, ClientContext* context, transport::EventLoop* loop, std::vector<bool>* waits) {
  CoClientReader<Text> reader(channel, {"test.Lambda/server-streaming", MethodKind::kServerStreaming}, context, Text());
  const auto wait = [&]() -> Task<bool> { co_return co_await reader.WaitForInitialMetadata(); };
  const auto pause = [&]() -> Task<bool> {
    co_await SleepFor(*loop, absl::Seconds(1));
    co_return false;
  };
  waits->push_back((co_await WhenAny(wait(), pause())).index() == 0);  // Given up.
  const bool there = co_await reader.WaitForInitialMetadata();
  waits->push_back(there);
}

TEST_F(InitialMetadataTest, WaitThatACoroutineGaveUpIsTheNextOnes) {
  Start();
  ClientContext context;
  std::vector<bool> waits;
  RunningTask running;
  loop_.Post([&] { running = StartTask(WaitTwice(channel_.get(), &context, &loop_, &waits), [](absl::Status) {}); });
  loop_.RunUntilIdle();
  loop_.Advance(absl::Seconds(1));
  EXPECT_THAT(waits, ElementsAre(false));
  served().context->SendInitialMetadata();
  loop_.RunUntilIdle();
  EXPECT_THAT(waits, ElementsAre(false, true));
}

}  // namespace
}  // namespace verbena
