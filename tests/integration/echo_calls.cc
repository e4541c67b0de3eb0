#include "tests/integration/echo_calls.h"

#include <utility>

#include "gtest/gtest.h"
#include "rpc/certainty.h"

namespace verbena::probe {

std::shared_ptr<Channel> OpenChannel(const std::string& address, const ChannelOptions& options) {
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address, options);
  EXPECT_TRUE(channel.ok()) << channel.status();
  return *channel;
}

absl::Status EchoOnce(Probe::Stub& stub, absl::Duration timeout) {
  ClientContext context;
  context.set_timeout(timeout);
  EchoRequest request;
  EchoReply reply;
  request.set_body("again");
  return stub.Echo(&context, request, &reply);
}

void EchoCalls::Start(Probe::Stub& stub, absl::Cord attachment) {
  Call& call = calls_.emplace_back();
  call.echo_request.set_body("probe");
  call.context.set_attachment(attachment);
  call.attachment = std::move(attachment);
  call.StartEcho(stub, [this, &call](absl::Status status) {
    const std::lock_guard lock(mu_);
    if (call.Complete(std::move(status))) ++completed_;
    changed_.notify_all();
  });
}

bool EchoCalls::WaitFor(size_t count, absl::Duration patience) {
  std::unique_lock lock(mu_);
  return changed_.wait_for(lock, absl::ToChronoMilliseconds(patience),
                           [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return completed_ >= count; });
}

int EchoCalls::ExpectOkOrUnavailable() {
  const std::lock_guard lock(mu_);
  int failed = 0;
  for (const Call& call : calls_) {
    EXPECT_EQ(call.completions, 1);
    if (call.status.ok()) {
      EXPECT_EQ(call.echo_reply.body(), call.echo_request.body());
      EXPECT_TRUE(call.context.attachment() == call.attachment);
      continue;
    }
    ++failed;
    EXPECT_EQ(call.status.code(), absl::StatusCode::kUnavailable) << call.status;
    EXPECT_TRUE(call.status.GetPayload(kCertaintyTypeUrl).has_value()) << call.status;
  }
  return failed;
}

}  // namespace verbena::probe
