// The greeter itself, in two forms: handlers that may block, on the executor, and handlers on the event loop.

#ifndef VERBENA_EXAMPLES_GREETER_GREETER_SERVICE_H_
#define VERBENA_EXAMPLES_GREETER_GREETER_SERVICE_H_

#include "absl/status/status.h"
#include "examples/greeter/greeter.verbena.h"
#include "rpc/server_context.h"

namespace verbena::examples {

class BlockingGreeter final : public demo::Greeter::Service {
 public:
  absl::Status SayHello(ServerContext* context, const demo::HelloRequest* request, demo::HelloReply* reply) override;
};

class CallbackGreeter final : public demo::Greeter::CallbackService {
 public:
  void SayHello(ServerContext* context, const demo::HelloRequest* request, demo::HelloReply* reply,
                Responder done) override;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_GREETER_GREETER_SERVICE_H_
