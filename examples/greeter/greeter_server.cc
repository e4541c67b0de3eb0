// The greeter's server daemon. Its flags: run it with --help.
//
//   greeter_server --listen=127.0.0.1:7471

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "examples/daemon/run_daemon.h"
#include "examples/greeter/greeter.verbena.h"
#include "rpc/server_context.h"

ABSL_FLAG(bool, callback, false,
          "Serve on the event loop by callback, instead of on the executor by blocking handlers.");

namespace {

absl::Status Greet(const demo::HelloRequest& request, demo::HelloReply* reply) {
  if (request.name().empty()) return absl::InvalidArgumentError("the request has no name");
  reply->set_text(absl::StrCat("Hello, ", request.name(), "!"));
  return absl::OkStatus();
}

class BlockingGreeter final : public demo::Greeter::Service {
 public:
  absl::Status SayHello(verbena::ServerContext* context, const demo::HelloRequest* request,
                        demo::HelloReply* reply) override {
    return Greet(*request, reply);
  }
};

class CallbackGreeter final : public demo::Greeter::CallbackService {
 public:
  void SayHello(verbena::ServerContext* context, const demo::HelloRequest* request, demo::HelloReply* reply,
                verbena::Responder done) override {
    done(Greet(*request, reply));
  }
};

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Serves demo.Greeter until SIGTERM or SIGINT.");
  absl::ParseCommandLine(argc, argv);
  verbena::examples::TerminationSignals signals;

  BlockingGreeter blocking;
  CallbackGreeter callback;
  verbena::Service* service = &blocking;
  if (absl::GetFlag(FLAGS_callback)) service = &callback;
  return verbena::examples::RunDaemon("greeter_server", {service}, signals);
}
