// Streams under everything that may happen, by seed: random operations at both ends, cancels, deadlines, broken links,
// missing credit, missing memory, held fetches. What must hold at the end: every call and every operation completed
// exactly once, a call soon after its handler without needing to be cancelled; each reader saw a beginning of what was
// written, in order, all of it if the call was OK; and nothing is left.

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "rpc/testing/call_fixture.h"
#include "transport/log.h"

namespace verbena {
namespace {

using rpc::MessageStream;
using testing::Text;

constexpr int kSteps = 400;
constexpr size_t kCallsMax = 12;

// One end's operations: at most one read and one write at a time, numbered messages.
struct End {
  std::shared_ptr<MessageStream> stream;
  Text incoming;
  std::unique_ptr<Text> outgoing;
  int writes_begun = 0;
  int written = 0;
  int read = 0;
  int completions_too_many = 0;
  bool reading = false;
  bool writing = false;
  bool at_end = false;
  bool out_of_order = false;

  void Read() {
    if (reading || at_end) return;
    reading = true;
    stream->Read(&incoming, nullptr, [this, done = false](absl::Status status) mutable {
      completions_too_many += std::exchange(done, true) ? 1 : 0;
      reading = false;
      if (!status.ok()) {
        at_end = true;
        return;
      }
      int number = -1;
      const std::vector<std::string> parts = absl::StrSplit(incoming.value(), ':');
      out_of_order |= !absl::SimpleAtoi(parts[0], &number) || number != read;
      ++read;
    });
  }
  void Write(
      size_t bytes, absl::AnyInvocable<void()> then = [] {}) {
    if (writing) return;
    writing = true;
    outgoing = std::make_unique<Text>();
    outgoing->set_value(absl::StrCat(writes_begun, ":", std::string(bytes, '.')));
    stream->Write(outgoing.get(), {}, [this, then = std::move(then), done = false](absl::Status status) mutable {
      completions_too_many += std::exchange(done, true) ? 1 : 0;
      writing = false;
      outgoing.reset();  // The user's again: what the transport still reads would be seen by a sanitizer.
      if (status.ok()) {
        ++writes_begun;
        ++written;
      }
      then();
    });
  }
};

struct ChaosCall {
  ClientContext context;
  Text request;
  Text reply;
  MethodKind kind = MethodKind::kUnary;
  std::string method;
  End client;
  End server;
  std::unique_ptr<Responder> responder;
  std::vector<absl::Status> completions;
};

class StreamChaosTest : public testing::CallFixture, public ::testing::WithParamInterface<uint32_t> {
 protected:
  StreamChaosTest() : random_(GetParam()) {
    SetLogSink([](Severity, absl::string_view) {});
    for (const MethodKind kind :
         {MethodKind::kClientStreaming, MethodKind::kServerStreaming, MethodKind::kBidiStreaming}) {
      service_.AddStream(
          std::string(ToString(kind)), kind,
          [this](ServerContext* context, const Text&, Text*, std::shared_ptr<MessageStream> stream, Responder done) {
            int number = 0;
            ASSERT_TRUE(absl::SimpleAtoi(context->client_metadata().Find("number").value(), &number));
            ChaosCall& call = *calls_[static_cast<size_t>(number)];
            call.server.stream = std::move(stream);
            call.responder = std::make_unique<Responder>(std::move(done));
          });
    }
  }
  static void TearDownTestSuite() {
    EXPECT_GT(messages_read_, 5000);
    EXPECT_GT(ok_, 100);
  }
  ~StreamChaosTest() override {
    channel_.reset();
    StopServer();
    SetLogSink(nullptr);
  }

  uint32_t Below(uint32_t bound) { return random_() % bound; }
  size_t AnySize() { return Below(4) == 0 ? Below(100'000) : Below(3000); }

  void Begin() {
    if (calls_.size() == kCallsMax) return;
    calls_.push_back(std::make_unique<ChaosCall>());
    ChaosCall* const call = calls_.back().get();
    call->kind = static_cast<MethodKind>(1 + Below(3));
    call->method = absl::StrCat("test.Lambda/", ToString(call->kind));
    ASSERT_TRUE(call->context.AddMetadata("number", absl::StrCat(calls_.size() - 1)).ok());
    if (Below(4) == 0) call->context.set_timeout(absl::Milliseconds(1 + Below(2000)));
    rpc::UserCall made;
    made.method = call->method;
    made.kind = call->kind;
    made.context = &call->context;
    made.request = ClientStreams(call->kind) ? nullptr : &call->request;
    made.reply = ServerStreams(call->kind) ? nullptr : &call->reply;
    made.done = [call](absl::Status status) { call->completions.push_back(std::move(status)); };
    channel_->core().StartStreaming(std::move(made), [call](const auto& stream) { call->client.stream = stream; });
  }

  void StepOf(ChaosCall& call) {
    switch (Below(9)) {
      case 0:
      case 1:
        if (ClientStreams(call.kind)) call.client.Write(AnySize());
        return;
      case 2:
      case 3:
        if (ServerStreams(call.kind)) call.client.Read();
        return;
      case 4:
        if (ServerStreams(call.kind) && call.responder != nullptr) WriteOfServer(call);
        return;
      case 5:
      case 6:
        if (ClientStreams(call.kind) && call.responder != nullptr) call.server.Read();
        return;
      case 7:
        if (Below(10) == 0) call.client.stream->EndWrites();
        return;
      default:
        if (Below(20) == 0) call.context.TryCancel();
        if (Below(10) == 0) Answer(call);
    }
  }

  // As handlers do, which end in the completion of what they wrote, or write on.
  void WriteOfServer(ChaosCall& call) {
    call.server.Write(AnySize(), [this, &call] {
      if (call.responder != nullptr && Below(10) == 0) call.server.Write(AnySize());
      if (Below(10) == 0) Answer(call);
    });
  }

  void Answer(ChaosCall& call) {
    if (call.responder == nullptr) return;
    Responder done = std::move(*std::exchange(call.responder, nullptr));
    done(Below(3) == 0 ? absl::AbortedError("chaos") : absl::OkStatus());
  }

  void StepOfTheNetwork() {
    testing::MemoryConnection* const client = network_.latest_client();
    testing::MemoryConnection* const server = network_.latest_server();
    if (client == nullptr || server == nullptr) return;
    testing::MemoryConnection& end = Below(2) == 0 ? *client : *server;
    switch (Below(9)) {
      case 0:
        return end.Stall();
      case 1:
        return end.Unstall();
      case 2:
        return end.HoldFetches();
      case 3:
        return end.ReleaseFetches();
      case 4:
        if (Below(8) == 0) client->Sever();
        return;
      case 5:
        return end.HoldExports();
      case 6:
        return end.ReleaseExports();
      case 7:
        return end.FailExports();
      default:
        return loop_.Advance(absl::Milliseconds(Below(50)));
    }
  }

  void Settle() {
    for (testing::MemoryConnection* end : {network_.latest_client(), network_.latest_server()}) {
      if (end == nullptr) continue;
      end->Unstall();
      end->ReleaseExports();
      end->ReleaseFetches();
    }
    loop_.RunUntilIdle();
    for (const auto& call : calls_) Answer(*call);
    loop_.RunUntilIdle();
    for (const auto& call : calls_) {
      const bool answered = call->server.stream != nullptr && call->responder == nullptr;
      EXPECT_TRUE(!answered || call->completions.size() == 1) << "a call hangs whose handler is done";
    }
    for (const auto& call : calls_) call->context.TryCancel();
    loop_.Advance(absl::Seconds(10));
    for (const auto& call : calls_) Answer(*call);
    loop_.Advance(absl::Seconds(1));
    for (const auto& call : calls_) {
      while (!call->client.at_end) {
        call->client.Read();
        loop_.RunUntilIdle();
      }
    }
  }

  void ExpectWhatMustHold(ChaosCall& call) {
    ASSERT_EQ(call.completions.size(), 1u);
    for (const End* end : {&call.client, &call.server}) {
      EXPECT_EQ(end->completions_too_many, 0);
      EXPECT_FALSE(end->writing);
      EXPECT_FALSE(end->reading);
      EXPECT_FALSE(end->out_of_order);
    }
    EXPECT_LE(call.server.read, call.client.written);
    EXPECT_LE(call.client.read, call.server.written);
    if (call.completions[0].ok()) {
      EXPECT_EQ(call.client.read, call.server.written);
    }
    messages_read_ += call.client.read + call.server.read;
    ok_ += call.completions[0].ok() ? 1 : 0;
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<ChaosCall>> calls_;
  // Over all seeds: what this test is worth.
  static inline int messages_read_ = 0;
  static inline int ok_ = 0;
};

TEST_P(StreamChaosTest, EveryCallAndOperationCompletesOnce) {
  Start();
  for (int step = 0; step < kSteps; ++step) {
    if (Below(10) == 0) Begin();
    if (!calls_.empty()) StepOf(*calls_[Below(static_cast<uint32_t>(calls_.size()))]);
    if (Below(8) == 0) StepOfTheNetwork();
    if (Below(2) == 0) loop_.RunUntilIdle();
  }
  Settle();
  for (size_t number = 0; number < calls_.size(); ++number) {
    SCOPED_TRACE(absl::StrCat("seed ", GetParam(), ", call ", number));
    ExpectWhatMustHold(*calls_[number]);
  }
  EXPECT_EQ(server_->tally().calls(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, StreamChaosTest, ::testing::Range(0u, 400u));

}  // namespace
}  // namespace verbena
