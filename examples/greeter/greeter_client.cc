// Calls a greeter server twice: blocking, and by callback.
//
//   greeter_client --server=127.0.0.1:7471 --name=Ada

#include <future>
#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "examples/daemon/flags_alone.h"
#include "examples/greeter/greeter.verbena.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/options.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7471", "The server: host:port, rdma://host:port or soft://host:port.");
ABSL_FLAG(std::string, device, "", "Device to use: auto, soft, or a device's name. Empty: $VERBENA_DEVICE, else auto.");
ABSL_FLAG(std::string, name, "world", "Whom to greet.");
ABSL_FLAG(absl::Duration, timeout, absl::Seconds(5), "How long each call may take.");

namespace {

// The call as a function: returns when it is complete.
absl::Status CallBlocking(demo::Greeter::Stub& stub, const demo::HelloRequest& request, demo::HelloReply* reply) {
  verbena::ClientContext context;
  context.set_timeout(absl::GetFlag(FLAGS_timeout));
  return stub.SayHello(&context, request, reply);
}

// The call by callback: this thread is free in between, here to wait for the answer.
absl::Status CallWithCallback(demo::Greeter::Stub& stub, const demo::HelloRequest& request, demo::HelloReply* reply) {
  verbena::ClientContext context;
  context.set_timeout(absl::GetFlag(FLAGS_timeout));
  std::promise<absl::Status> promise;
  std::future<absl::Status> status = promise.get_future();
  stub.async()->SayHello(&context, &request, reply, [promise = std::move(promise)](absl::Status outcome) mutable {
    promise.set_value(std::move(outcome));
  });
  return status.get();
}

bool Print(const char* how, const absl::Status& status, const demo::HelloReply& reply) {
  if (status.ok()) {
    std::cout << how << ": " << reply.text() << std::endl;
  } else {
    std::cerr << absl::StrCat("greeter_client: ", how, ": ", status.ToString(), "\n");
  }
  return status.ok();
}

// Which device and way the messages took: small ones travel in frames, large ones are fetched by RDMA READ.
void PrintPath(const verbena::Channel& channel) {
  const verbena::TransportCounters counters = verbena::ReadTransportCounters();
  std::cout << "path: " << (counters.reads == 0 ? "eager" : "rendezvous") << ", " << counters.frames_sent
            << " frames sent, " << counters.frames_received << " received, " << counters.reads << " RDMA READs\n"
            << "channel: " << channel.DescribeState() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (!verbena::examples::ParseFlagsAlone(argc, argv, "Calls a greeter server, blocking and by callback.")) return 2;

  verbena::ChannelOptions options;
  options.transport.device = absl::GetFlag(FLAGS_device);
  absl::StatusOr<std::shared_ptr<verbena::Channel>> channel =
      verbena::Channel::Create(absl::GetFlag(FLAGS_server), options);
  if (!channel.ok()) {
    std::cerr << absl::StrCat("greeter_client: ", channel.status().ToString(), "\n");
    return 1;
  }
  demo::Greeter::Stub stub(*channel);
  demo::HelloRequest request;
  request.set_name(absl::GetFlag(FLAGS_name));

  demo::HelloReply reply;
  const bool blocking_ok = Print("blocking", CallBlocking(stub, request, &reply), reply);
  reply.Clear();
  const bool callback_ok = Print("callback", CallWithCallback(stub, request, &reply), reply);
  PrintPath(**channel);
  return blocking_ok && callback_ok ? 0 : 1;
}
