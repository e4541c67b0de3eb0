#include "examples/greeter/greeter_service.h"

#include "absl/strings/str_cat.h"

namespace verbena::examples {
namespace {

absl::Status Greet(const demo::HelloRequest& request, demo::HelloReply* reply) {
  if (request.name().empty()) return absl::InvalidArgumentError("the request has no name");
  reply->set_text(absl::StrCat("Hello, ", request.name(), "!"));
  return absl::OkStatus();
}

}  // namespace

absl::Status BlockingGreeter::SayHello(ServerContext*, const demo::HelloRequest* request, demo::HelloReply* reply) {
  return Greet(*request, reply);
}

void CallbackGreeter::SayHello(ServerContext*, const demo::HelloRequest* request, demo::HelloReply* reply,
                               Responder done) {
  done(Greet(*request, reply));
}

}  // namespace verbena::examples
