// A client of the probe service for tests that kill it. Calls for ever, prints "calling" when every connection has been
// answered once (or, for calls that are not to be answered, when they are made), and ends with its parent.
//
//   probe_client ADDRESS echo|upload|download|hold CONNECTIONS

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/payload.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/probe.verbena.h"

namespace verbena::probe {
namespace {

constexpr size_t kLargeBytes = 256 << 20;
constexpr int64_t kHoldMilliseconds = 600000;
constexpr int kEchoesInFlight = 8;  // Per connection.

[[noreturn]] void EndWith(const absl::Status& status) {
  std::fprintf(stderr, "a call failed: %s\n", status.ToString().c_str());
  std::_Exit(1);
}

// One call at a time, again and again.
class Caller {
 public:
  explicit Caller(Probe::Stub* stub) : stub_(*stub) {}

  void Echo() {
    context_.Reset();
    echo_request_.set_body("hello");
    stub_.async()->Echo(&context_, &echo_request_, &echo_reply_, [this](absl::Status status) {
      if (!status.ok()) EndWith(status);
      Echo();
    });
  }
  // With an attachment in registered memory, so that the client's part is done at once.
  void Upload(const absl::Cord& attachment) {
    context_.set_attachment(attachment);
    stub_.async()->Echo(&context_, &echo_request_, &echo_reply_, [](absl::Status) {});
  }
  void Download() {
    context_.Reset();
    fetch_request_.set_bytes(integration::LargeBytes(kLargeBytes));
    stub_.async()->Fetch(&context_, &fetch_request_, &fetch_reply_, [this](absl::Status status) {
      if (!status.ok()) EndWith(status);
      Download();
    });
  }
  void Hold() {
    hold_request_.set_milliseconds(kHoldMilliseconds);
    stub_.async()->Hold(&context_, &hold_request_, &hold_reply_, [](absl::Status) {});
  }

 private:
  Probe::Stub& stub_;
  ClientContext context_;
  EchoRequest echo_request_;
  EchoReply echo_reply_;
  FetchRequest fetch_request_;
  FetchReply fetch_reply_;
  HoldRequest hold_request_;
  HoldReply hold_reply_;
};

absl::Status AnswerOnce(Probe::Stub& stub) {
  ClientContext context;
  EchoRequest request;
  EchoReply reply;
  return stub.Echo(&context, request, &reply);
}

void Start(const std::string& what, int connections, Probe::Stub* stub, std::deque<Caller>* callers) {
  const int calls = what == "echo" ? kEchoesInFlight * connections : connections;
  absl::Cord attachment;
  if (what == "upload") {
    // Not written: nobody reads what is in it, and where pages are slow writing them is most of the test's time.
    attachment = std::move(*AllocatePayload(integration::LargeBytes(kLargeBytes))).ToCord();
  }
  for (int i = 0; i < calls; ++i) {
    Caller& caller = callers->emplace_back(stub);
    if (what == "echo") caller.Echo();
    if (what == "upload") caller.Upload(attachment);
    if (what == "download") caller.Download();
    if (what == "hold") caller.Hold();
  }
}

int Run(const char* address, const std::string& what, int connections) {
  ChannelOptions options;
  options.transport.rnr_retry_count = 0;
  // All connect at once, while those that are connected call for ever: on a slow machine it takes long.
  options.connect_timeout = absl::Minutes(1);
  options.transport.handshake_timeout = absl::Seconds(30);
  options.transport.message_bytes_max = uint64_t{1} << 30;
  options.connections = connections;
  Probe::Stub stub(*Channel::Create(address, options));
  if (absl::Status answered = AnswerOnce(stub); !answered.ok()) EndWith(answered);
  std::deque<Caller> callers;
  Start(what, connections, &stub, &callers);
  std::printf("calling\n");
  std::fflush(stdout);
  while (true) pause();
}

}  // namespace
}  // namespace verbena::probe

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return verbena::probe::Run(argv[1], argv[2], std::atoi(argv[3]));
}
