// A service whose methods are lambdas over strings.
//
// Owner: the test; outlives the server. Methods are added before the server starts.

#ifndef VERBENA_RPC_TESTING_LAMBDA_SERVICE_H_
#define VERBENA_RPC_TESTING_LAMBDA_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/wrappers.pb.h"
#include "rpc/blocking_stream.h"
#include "rpc/co_handler.h"
#include "rpc/server_context.h"
#include "rpc/service.h"

namespace verbena::testing {

using Text = google::protobuf::StringValue;

class LambdaService : public Service {
 public:
  using Blocking = std::function<absl::Status(ServerContext*, const Text& request, Text* reply)>;
  using Callback = std::function<void(ServerContext*, const Text& request, Text* reply, Responder done)>;

  explicit LambdaService(std::string full_name = "test.Lambda") : full_name_(std::move(full_name)) {}

  LambdaService& AddBlocking(std::string name, Blocking handler) {
    Method& method = Add(std::move(name));
    method.blocking = [handler = std::move(handler)](ServerContext* context, const auto& request, auto* reply) {
      return handler(context, static_cast<const Text&>(request), static_cast<Text*>(reply));
    };
    return *this;
  }
  LambdaService& AddCallback(std::string name, Callback handler) {
    Method& method = Add(std::move(name));
    method.callback = [handler = std::move(handler)](ServerContext* context, const auto& request, auto* reply,
                                                     Responder done) {
      handler(context, static_cast<const Text&>(request), static_cast<Text*>(reply), std::move(done));
    };
    return *this;
  }
  // `handler` takes what a Callback does, but for the responder, and returns a Task<absl::Status>.
  template <typename Handler>
  LambdaService& AddCoroutine(std::string name, Handler handler) {
    AddCallback(std::move(name), [handler = std::move(handler)](ServerContext* context, const Text& request,
                                                                Text* reply, Responder done) {
      rpc::RunCoHandler(context, handler(context, &request, reply), std::move(done));
    });
    methods_.back().is_coroutine = true;
    return *this;
  }

  LambdaService& ReadInParts(std::string name) {
    ReadAttachmentInParts(std::move(name));
    return *this;
  }

  // One that streams, on the event loop.
  using Stream = std::function<void(ServerContext*, const Text& request, Text* reply,
                                    std::shared_ptr<rpc::MessageStream> stream, Responder done)>;
  LambdaService& AddStream(std::string name, MethodKind kind, Stream handler) {
    Method& method = Add(std::move(name));
    method.kind = kind;
    method.callback_stream = [handler = std::move(handler)](ServerContext* context, const auto& request, auto* reply,
                                                            std::shared_ptr<rpc::MessageStream> stream,
                                                            Responder done) {
      handler(context, static_cast<const Text&>(request), static_cast<Text*>(reply), std::move(stream),
              std::move(done));
    };
    return *this;
  }

  // A bidirectional one, on the executor.
  using BlockingStream = std::function<absl::Status(ServerContext*, ServerReaderWriter<Text, Text>& stream)>;
  LambdaService& AddBlockingStream(std::string name, BlockingStream handler) {
    Method& method = Add(std::move(name));
    method.kind = MethodKind::kBidiStreaming;
    method.blocking_stream = [handler = std::move(handler)](ServerContext* context, const auto&, auto*,
                                                            std::shared_ptr<rpc::MessageStream> stream) {
      ServerReaderWriter<Text, Text> streams(std::move(stream));
      return handler(context, streams);
    };
    return *this;
  }

  const std::string& full_name() const override { return full_name_; }
  const std::vector<Method>& methods() const override { return methods_; }

 private:
  Method& Add(std::string name) {
    methods_.push_back({});
    methods_.back().name = std::move(name);
    methods_.back().new_request = [] { return std::make_unique<Text>(); };
    methods_.back().new_reply = [] { return std::make_unique<Text>(); };
    return methods_.back();
  }

  const std::string full_name_;
  std::vector<Method> methods_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_LAMBDA_SERVICE_H_
