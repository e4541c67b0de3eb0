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
#include "rpc/core/method_kind.h"

namespace verbena {

class ServerContext;
namespace rpc {
class MessageStream;
}  // namespace rpc

// Finishes a call that a callback handler was given. Call it exactly once, from any thread; dropped uncalled, the call
// ends as INTERNAL.
using Responder = absl::AnyInvocable<void(absl::Status)>;

// One method. Immutable after the service is registered.
struct Method {
  std::string name;  // Without the service: "SayHello".
  MethodKind kind = MethodKind::kUnary;
  std::function<std::unique_ptr<google::protobuf::MessageLite>()> new_request;
  std::function<std::unique_ptr<google::protobuf::MessageLite>()> new_reply;

  // Exactly one of these is set; of a method that streams one of the last two.
  // Runs on the executor and may block.
  std::function<absl::Status(ServerContext*, const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply)>
      blocking = nullptr;
  // Runs on the event loop and never blocks. `request` and `reply` live until the responder has been called.
  std::function<void(ServerContext*, const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply,
                     Responder&& done)>
      callback = nullptr;
  // The same with streams: `request` is empty if the client streams, `reply` is not sent if the server does.
  std::function<absl::Status(ServerContext*, const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply, std::shared_ptr<rpc::MessageStream> stream)>
      blocking_stream = nullptr;
  std::function<void(ServerContext*, const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply,
                     std::shared_ptr<rpc::MessageStream> stream, Responder&& done)>
      callback_stream = nullptr;
};

class Service {
 public:
  virtual ~Service() = default;
  virtual const std::string& full_name() const = 0;  // "package.Service".
  virtual const std::vector<Method>& methods() const = 0;

  // What a server tells the services that are registered with it; few have anything to do about it.
  //
  // It is about to take calls; `services` are the full names of all that it serves. On Server::Builder::Build's thread.
  virtual void OnServerStart(const std::vector<std::string>& /*services*/) {}
  // It is about to reject new calls and to let those in flight finish: those that would not by themselves, such as
  // streams that wait for news, are to be ended, and new ones of that kind, too. Once, on the thread that shuts the
  // server down; must not block.
  virtual void OnServerDrain() {}
};

}  // namespace verbena

#endif  // VERBENA_RPC_SERVICE_H_
