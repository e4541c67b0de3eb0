// What a program wants to see and say of every call, of every kind, at either end: tracing, logging, quotas, tokens in
// the metadata. Public API.
//
//   class Tracer : public verbena::ClientInterceptor {
//     absl::Status OnStart(verbena::ClientContext& context) override { return context.AddMetadata("trace", id_); }
//     void OnEnd(const verbena::ClientContext&, const absl::Status& status) override { Finish(id_, status); }
//     …
//   };
//   options.interceptors.push_back([](const verbena::CalledMethod& method) { return std::make_unique<Tracer>(method);
//   });
//
// Each call has an interceptor of its own from each maker. Those of one call are a chain: starts and what is sent pass
// it from the first maker's to the last's, what is received and the end from the last's to the first's.
//
// Calls that a server refuses before it knows what is asked of it are seen by none of its interceptors: those past a
// limit or a deadline, of unknown methods, forbidden by the authorizer, or whose request does not parse.
//
// A call that is made again (ChannelOptions::retries) is one call: it starts once and ends once.
//
// Owner: the call. Thread: the event loop's, one call-back of a call at a time; none may block. What OnStart throws
// refuses the call as INTERNAL; what others throw is a line in the log.

#ifndef VERBENA_RPC_INTERCEPTOR_INTERCEPTOR_H_
#define VERBENA_RPC_INTERCEPTOR_INTERCEPTOR_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "rpc/core/method_kind.h"

namespace verbena {

class ClientContext;
class ServerContext;

struct CalledMethod {
  absl::string_view name;  // "package.Service/Method"; lives as long as the channel or server.
  MethodKind kind;
};

// `Context` is this end's view of the call.
template <typename Context>
class CallInterceptor {
 public:
  virtual ~CallInterceptor() = default;

  // First. At the client before anything is sent, at the server before the handler runs. Anything but OK ends the call
  // with that status, as not sent; those behind in the chain never hear of it.
  virtual absl::Status OnStart(Context& /*context*/) { return absl::OkStatus(); }
  // A message of the call or its streams, on its way out or in; a unary call has one of each if all goes well. To be
  // looked at in here: it may be gone when this has returned, and another call's message stand in its place.
  virtual void OnSend(const google::protobuf::MessageLite& /*message*/) {}
  virtual void OnReceived(const google::protobuf::MessageLite& /*message*/) {}
  // Last, once, if OnStart returned OK; not if the channel's or the server's loop has ended before the call.
  virtual void OnEnd(const Context& /*context*/, const absl::Status& /*status*/) {}
};

using ClientInterceptor = CallInterceptor<ClientContext>;
using ServerInterceptor = CallInterceptor<ServerContext>;

// One for the call, or null: this call is none of its business. Any event loop's thread, several at the same time.
template <typename Context>
using InterceptorMaker = std::function<std::unique_ptr<CallInterceptor<Context>>(const CalledMethod& method)>;
using ClientInterceptors = std::vector<InterceptorMaker<ClientContext>>;
using ServerInterceptors = std::vector<InterceptorMaker<ServerContext>>;

}  // namespace verbena

#endif  // VERBENA_RPC_INTERCEPTOR_INTERCEPTOR_H_
