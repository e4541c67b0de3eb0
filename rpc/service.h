// What a server serves: a service is a name and a list of methods. Generated code derives from this; users derive from
// generated code.

#ifndef VERBENA_RPC_SERVICE_H_
#define VERBENA_RPC_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"

namespace verbena {

class ServerContext;

// Finishes a call that a callback handler was given. Call it exactly once, from any thread; dropped uncalled, the call
// ends as INTERNAL.
using Responder = absl::AnyInvocable<void(absl::Status)>;

// One unary method. Immutable after the service is registered.
struct UnaryMethod {
  std::string name;  // Without the service: "SayHello".
  std::function<std::unique_ptr<google::protobuf::MessageLite>()> new_request;
  std::function<std::unique_ptr<google::protobuf::MessageLite>()> new_reply;

  // Exactly one is set.
  // Runs on the executor and may block.
  std::function<absl::Status(ServerContext*, const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply)>
      blocking;
  // Runs on the event loop and never blocks. `request` and `reply` live until the responder has been called.
  std::function<void(ServerContext*, const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply,
                     Responder done)>
      callback;
};

class Service {
 public:
  virtual ~Service() = default;
  virtual const std::string& full_name() const = 0;  // "package.Service".
  virtual const std::vector<UnaryMethod>& methods() const = 0;
};

}  // namespace verbena

#endif  // VERBENA_RPC_SERVICE_H_
