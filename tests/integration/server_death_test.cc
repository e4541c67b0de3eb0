// The server is killed, stopped or restarted under a client: every call completes exactly once, soon, and says how sure
// it is; the client goes on with the next server without being made anew.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/payload.h"
#include "tests/integration/child_process.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/echo_calls.h"
#include "tests/integration/probe.verbena.h"
#include "tests/integration/wait_until.h"

namespace verbena::probe {
namespace {

constexpr absl::Duration kBound = absl::Seconds(5);
constexpr size_t kLargeBytes = size_t{1} << 30;
constexpr absl::Duration kPatience = absl::Seconds(300);  // For what a test begins with: a guest takes its time.

ChannelOptions Options() {
  ChannelOptions options;
  options.transport.rnr_retry_count = 0;
  options.transport.message_bytes_max = uint64_t{4} << 30;
  options.connect_timeout = absl::Seconds(2);
  return options;
}

std::shared_ptr<Channel> MakeChannel(const std::string& address, const ChannelOptions& options = Options()) {
  return OpenChannel(address, options);
}

absl::Status EchoOnce(Probe::Stub& stub) { return EchoOnce(stub, kBound); }

TEST(ServerDeath, KilledAmidAThousandCallsEachCompletesOnceAndTheChannelGoesOnWithTheNextServer) {
  auto server = std::make_unique<ServerProcess>();
  const std::string address = server->address();
  Probe::Stub stub(MakeChannel(address));
  EchoCalls calls;
  const auto start_calls = [&](int count) {
    for (int i = 0; i < count; ++i) calls.Start(stub, absl::Cord(std::string(i % 4 == 0 ? 100000 : 0, 'a')));
  };
  start_calls(900);
  ASSERT_TRUE(calls.WaitFor(100, kBound));
  server->process().Stop();
  start_calls(100);  // However fast the others were, these are in the middle.
  server->process().KillAndWait();
  ASSERT_TRUE(calls.WaitForAll(kBound));
  EXPECT_GE(calls.ExpectOkOrUnavailable(), 100);

  ServerProcess next(address);
  absl::Status status;
  const absl::Time give_up = absl::Now() + kBound;
  do {
    status = EchoOnce(stub);
  } while (!status.ok() && absl::Now() < give_up);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ServerDeath, KilledWhileItFetchesALargeRequestTheCallFailsSoon) {
  ServerProcess server;
  Probe::Stub stub(MakeChannel(server.address()));
  ASSERT_TRUE(EchoOnce(stub).ok());
  PayloadMemory memory = *AllocatePayload(integration::LargeBytes(kLargeBytes));
  std::fill_n(memory.data(), memory.size(), std::byte{1});
  EchoCalls calls;
  calls.Start(stub, std::move(memory).ToCord());
  ASSERT_TRUE(WaitUntil([] { return ReadTransportCounters().exported_bytes > 0; }, kBound));
  // Somewhere in the middle, which this end does not see; any moment must do.
  absl::SleepFor(absl::Milliseconds(50));
  server.process().KillAndWait();
  ASSERT_TRUE(calls.WaitForAll(kBound));
  calls.ExpectOkOrUnavailable();
}

TEST(ServerDeath, KilledWhileTheClientFetchesALargeReplyTheCallFailsSoon) {
  ServerProcess server;
  Probe::Stub stub(MakeChannel(server.address()));
  ASSERT_TRUE(EchoOnce(stub).ok());
  const uint64_t reads_before = ReadTransportCounters().reads;
  ClientContext context;
  FetchRequest request;
  FetchReply reply;
  request.set_bytes(integration::LargeBytes(kLargeBytes));
  std::atomic<int> completions = 0;
  absl::Status status;
  stub.async()->Fetch(&context, &request, &reply, [&](absl::Status outcome) {
    status = std::move(outcome);
    ++completions;
  });
  ASSERT_TRUE(
      WaitUntil([&] { return ReadTransportCounters().reads >= reads_before + 20 || completions > 0; }, kPatience));
  ASSERT_EQ(completions, 0) << status;
  server.process().KillAndWait();
  ASSERT_TRUE(WaitUntil([&] { return completions > 0; }, kBound));
  ASSERT_EQ(completions, 1);
  EXPECT_TRUE(status.code() == absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(GetCertainty(status), Certainty::kExecuted) << "the reply was announced, so the handler had run";
}

TEST(ServerDeath, AStoppedServerIsNoticedByKeepalive) {
  ServerProcess server;
  ChannelOptions options = Options();
  options.transport.keepalive_interval = absl::Milliseconds(300);
  options.transport.keepalive_timeout = absl::Milliseconds(500);
  Probe::Stub stub(MakeChannel(server.address(), options));
  ASSERT_TRUE(EchoOnce(stub).ok());
  server.process().Stop();
  EchoCalls calls;
  calls.Start(stub);
  EXPECT_TRUE(calls.WaitForAll(kBound));
  EXPECT_EQ(calls.ExpectOkOrUnavailable(), 1);
  server.process().Continue();
}

// Its kernel may go on to take connections in, and iWARP's keeps who wants to end one that is not answered waiting.
TEST(ServerDeath, StoppedBeforeTheFirstConnectionEveryCallEndsInTime) {
  ServerProcess server;
  server.process().Stop();
  ChannelOptions options = Options();
  options.transport.handshake_timeout = absl::Seconds(1);
  Probe::Stub stub(MakeChannel(server.address(), options));
  for (int i = 0; i < 3; ++i) {
    const absl::Time start = absl::Now();
    EXPECT_FALSE(EchoOnce(stub, absl::Seconds(2)).ok());
    EXPECT_LT(absl::Now() - start, kBound);
  }
  server.process().Continue();
}

TEST(ServerDeath, ADeadlinePassesOnTimeThoughTheServerHoldsTheCall) {
  ServerProcess server;
  Probe::Stub stub(MakeChannel(server.address()));
  ClientContext context;
  context.set_timeout(absl::Milliseconds(50));
  HoldRequest request;
  HoldReply reply;
  request.set_milliseconds(60000);
  const absl::Time start = absl::Now();
  EXPECT_EQ(stub.Hold(&context, request, &reply).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(ServerDeath, WhereNobodyListensTheCallFailsAsNotSentInWords) {
  Probe::Stub stub(MakeChannel(integration::AddressUnderTest(1)));
  const absl::Status status = EchoOnce(stub);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  EXPECT_NE(status.message().find(integration::HostUnderTest() + ":1"), absl::string_view::npos) << status;
}

class IdleServer : public testing::TestWithParam<const char*> {};

TEST_P(IdleServer, UsesNoProcessorTime) {
  ServerProcess server(integration::AddressUnderTest(), {.wait = GetParam()});
  Probe::Stub stub(MakeChannel(server.address()));
  ASSERT_TRUE(EchoOnce(stub).ok());
  const absl::Duration before = server.process().ProcessorTime();
  absl::SleepFor(absl::Seconds(3));
  EXPECT_LE(server.process().ProcessorTime() - before, absl::Milliseconds(60));
}

INSTANTIATE_TEST_SUITE_P(Policies, IdleServer, testing::Values("event", "adaptive"));

}  // namespace
}  // namespace verbena::probe
