#include "codegen/method_text.h"

namespace verbena::codegen {
namespace {

constexpr MethodText kUnaryText = {
    .kind_field = "",
    .stub_declaration =
        "$virtual$::absl::Status $method$(::verbena::ClientContext* context, const $request$& request,\n"
        "    $reply$* reply)$specifier$;\n",
    .async_declaration =
        "$virtual$void $method$(::verbena::ClientContext* context, const $request$* request,\n"
        "    $reply$* reply, ::verbena::CallDone done)$specifier$;\n",
    .co_declaration =
        "::verbena::CoUnaryCall<$request$, $reply$> $method$(\n"
        "    ::verbena::ClientContext* context, const $request$& request, $reply$* reply);\n",
    .service_declaration =
        "virtual ::absl::Status $method$(::verbena::ServerContext* context, const $request$* request,\n"
        "    $reply$* reply);\n",
    .callback_declaration =
        "virtual void $method$(::verbena::ServerContext* context, const $request$* request,\n"
        "    $reply$* reply, ::verbena::Responder done);\n",
    .co_service_declaration =
        "virtual ::verbena::Task<::absl::Status> $method$(::verbena::ServerContext* context,\n"
        "    const $request$* request, $reply$* reply);\n",
    .stub_definitions =
        "::absl::Status $service$::Stub::$method$(::verbena::ClientContext* context,\n"
        "    const $request$& request, $reply$* reply) {\n"
        "  return ::verbena::BlockingUnaryCall(*channel_, \"$path$\", context, request, reply);\n"
        "}\n"
        "\n"
        "void $service$::Stub::Async::$method$(::verbena::ClientContext* context,\n"
        "    const $request$* request, $reply$* reply, ::verbena::CallDone done) {\n"
        "  ::verbena::CallbackUnaryCall(*channel_, \"$path$\", context, request, reply,\n"
        "                               ::std::move(done));\n"
        "}\n"
        "\n"
        "::verbena::CoUnaryCall<$request$, $reply$> $service$::Stub::Co::$method$(\n"
        "    ::verbena::ClientContext* context, const $request$& request, $reply$* reply) {\n"
        "  return ::verbena::CoUnaryCall<$request$, $reply$>(channel_, \"$path$\", context, &request, reply);\n"
        "}\n"
        "\n",
    .blocking_handler =
        "    .blocking =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
        "               ::google::protobuf::MessageLite* reply) {\n"
        "          return this->$method$(context, static_cast<const $request$*>(&request),\n"
        "                                static_cast<$reply$*>(reply));\n"
        "        },\n",
    .callback_handler =
        "    .callback =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
        "               ::google::protobuf::MessageLite* reply, ::verbena::Responder&& done) {\n"
        "          this->$method$(context, static_cast<const $request$*>(&request),\n"
        "                         static_cast<$reply$*>(reply), ::std::move(done));\n"
        "        },\n",
    .co_handler =
        "    .callback =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
        "               ::google::protobuf::MessageLite* reply, ::verbena::Responder&& done) {\n"
        "          ::verbena::rpc::RunCoHandler(\n"
        "              context,\n"
        "              this->$method$(context, static_cast<const $request$*>(&request),\n"
        "                             static_cast<$reply$*>(reply)),\n"
        "              ::std::move(done));\n"
        "        },\n"
        "    .is_coroutine = true,\n",
    .service_default =
        "::absl::Status $service$::Service::$method$(::verbena::ServerContext* /*context*/,\n"
        "    const $request$* /*request*/, $reply$* /*reply*/) {\n"
        "  return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
    .callback_default =
        "void $service$::CallbackService::$method$(::verbena::ServerContext* /*context*/,\n"
        "    const $request$* /*request*/, $reply$* /*reply*/, ::verbena::Responder done) {\n"
        "  done(::absl::UnimplementedError(\"$path$ is not implemented by this server\"));\n"
        "}\n"
        "\n",
    .co_default =
        "::verbena::Task<::absl::Status> $service$::CoService::$method$(::verbena::ServerContext* /*context*/,\n"
        "    const $request$* /*request*/, $reply$* /*reply*/) {\n"
        "  co_return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
};

constexpr MethodText kClientStreamingText = {
    .kind_field = "    .kind = ::verbena::MethodKind::kClientStreaming,\n",
    .stub_declaration =
        "$virtual$::std::unique_ptr<::verbena::ClientWriter<$request$>> $method$(\n"
        "    ::verbena::ClientContext* context, $reply$* reply)$specifier$;\n",
    .async_declaration =
        "$virtual$void $method$(::verbena::ClientContext* context, $reply$* reply,\n"
        "    ::verbena::ClientWriteReactor<$request$>* reactor)$specifier$;\n",
    .co_declaration =
        "::std::unique_ptr<::verbena::CoClientWriter<$request$>> $method$(\n"
        "    ::verbena::ClientContext* context, $reply$* reply);\n",
    .service_declaration =
        "virtual ::absl::Status $method$(::verbena::ServerContext* context,\n"
        "    ::verbena::ServerReader<$request$>* reader, $reply$* reply);\n",
    .callback_declaration =
        "virtual ::verbena::ServerReadReactor<$request$>* $method$(\n"
        "    ::verbena::ServerContext* context, $reply$* reply);\n",
    .co_service_declaration =
        "virtual ::verbena::Task<::absl::Status> $method$(::verbena::ServerContext* context,\n"
        "    ::verbena::CoServerReader<$request$>* reader, $reply$* reply);\n",
    .stub_definitions =
        "::std::unique_ptr<::verbena::ClientWriter<$request$>> $service$::Stub::$method$(\n"
        "    ::verbena::ClientContext* context, $reply$* reply) {\n"
        "  return ::std::make_unique<::verbena::ClientWriter<$request$>>(\n"
        "      channel_, ::verbena::rpc::StreamingMethod{\"$path$\", ::verbena::MethodKind::kClientStreaming}, "
        "context, reply);\n"
        "}\n"
        "\n"
        "void $service$::Stub::Async::$method$(::verbena::ClientContext* context, $reply$* reply,\n"
        "    ::verbena::ClientWriteReactor<$request$>* reactor) {\n"
        "  reactor->Bind(channel_, {\"$path$\", ::verbena::MethodKind::kClientStreaming}, context, nullptr,\n"
        "                reply);\n"
        "}\n"
        "\n"
        "::std::unique_ptr<::verbena::CoClientWriter<$request$>> $service$::Stub::Co::$method$(\n"
        "    ::verbena::ClientContext* context, $reply$* reply) {\n"
        "  return ::std::make_unique<::verbena::CoClientWriter<$request$>>(\n"
        "      channel_, ::verbena::rpc::StreamingMethod{\"$path$\", ::verbena::MethodKind::kClientStreaming}, "
        "context, reply);\n"
        "}\n"
        "\n",
    .blocking_handler =
        "    .blocking_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& /*request*/,\n"
        "               ::google::protobuf::MessageLite* reply,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream) {\n"
        "          ::verbena::ServerReader<$request$> streams(::std::move(stream));\n"
        "          return this->$method$(context, &streams, static_cast<$reply$*>(reply));\n"
        "        },\n",
    .callback_handler =
        "    .callback_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& /*request*/,\n"
        "               ::google::protobuf::MessageLite* reply,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream, ::verbena::Responder&& done) {\n"
        "          ::verbena::rpc::BindServerReactor(\n"
        "              this->$method$(context, static_cast<$reply$*>(reply)),\n"
        "              \"$path$\", ::std::move(stream), ::std::move(done));\n"
        "        },\n",
    .co_handler =
        "    .callback_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& /*request*/,\n"
        "               ::google::protobuf::MessageLite* reply,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream, ::verbena::Responder&& done) {\n"
        "          auto streams = ::std::make_unique<::verbena::CoServerReader<$request$>>(::std::move(stream));\n"
        "          auto handler = this->$method$(context, streams.get(), static_cast<$reply$*>(reply));\n"
        "          ::verbena::rpc::RunCoHandler(context, ::std::move(handler), ::std::move(streams), "
        "::std::move(done));\n"
        "        },\n"
        "    .is_coroutine = true,\n",
    .service_default =
        "::absl::Status $service$::Service::$method$(::verbena::ServerContext* /*context*/,\n"
        "    ::verbena::ServerReader<$request$>* /*reader*/, $reply$* /*reply*/) {\n"
        "  return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
    .callback_default =
        "::verbena::ServerReadReactor<$request$>* $service$::CallbackService::$method$(\n"
        "    ::verbena::ServerContext* /*context*/, $reply$* /*reply*/) {\n"
        "  return nullptr;\n"
        "}\n"
        "\n",
    .co_default =
        "::verbena::Task<::absl::Status> $service$::CoService::$method$(::verbena::ServerContext* /*context*/,\n"
        "    ::verbena::CoServerReader<$request$>* /*reader*/, $reply$* /*reply*/) {\n"
        "  co_return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
};

constexpr MethodText kServerStreamingText = {
    .kind_field = "    .kind = ::verbena::MethodKind::kServerStreaming,\n",
    .stub_declaration =
        "$virtual$::std::unique_ptr<::verbena::ClientReader<$reply$>> $method$(\n"
        "    ::verbena::ClientContext* context, const $request$& request)$specifier$;\n",
    .async_declaration =
        "$virtual$void $method$(::verbena::ClientContext* context, const $request$* request,\n"
        "    ::verbena::ClientReadReactor<$reply$>* reactor)$specifier$;\n",
    .co_declaration =
        "::std::unique_ptr<::verbena::CoClientReader<$reply$>> $method$(\n"
        "    ::verbena::ClientContext* context, const $request$& request);\n",
    .service_declaration =
        "virtual ::absl::Status $method$(::verbena::ServerContext* context, const $request$* request,\n"
        "    ::verbena::ServerWriter<$reply$>* writer);\n",
    .callback_declaration =
        "virtual ::verbena::ServerWriteReactor<$reply$>* $method$(\n"
        "    ::verbena::ServerContext* context, const $request$* request);\n",
    .co_service_declaration =
        "virtual ::verbena::Task<::absl::Status> $method$(::verbena::ServerContext* context,\n"
        "    const $request$* request, ::verbena::CoServerWriter<$reply$>* writer);\n",
    .stub_definitions =
        "::std::unique_ptr<::verbena::ClientReader<$reply$>> $service$::Stub::$method$(\n"
        "    ::verbena::ClientContext* context, const $request$& request) {\n"
        "  return ::std::make_unique<::verbena::ClientReader<$reply$>>(\n"
        "      channel_, ::verbena::rpc::StreamingMethod{\"$path$\", ::verbena::MethodKind::kServerStreaming}, "
        "context, request);\n"
        "}\n"
        "\n"
        "void $service$::Stub::Async::$method$(::verbena::ClientContext* context, const $request$* request,\n"
        "    ::verbena::ClientReadReactor<$reply$>* reactor) {\n"
        "  reactor->Bind(channel_, {\"$path$\", ::verbena::MethodKind::kServerStreaming}, context, request,\n"
        "                nullptr);\n"
        "}\n"
        "\n"
        "::std::unique_ptr<::verbena::CoClientReader<$reply$>> $service$::Stub::Co::$method$(\n"
        "    ::verbena::ClientContext* context, const $request$& request) {\n"
        "  return ::std::make_unique<::verbena::CoClientReader<$reply$>>(\n"
        "      channel_, ::verbena::rpc::StreamingMethod{\"$path$\", ::verbena::MethodKind::kServerStreaming}, "
        "context, request);\n"
        "}\n"
        "\n",
    .blocking_handler =
        "    .blocking_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
        "               ::google::protobuf::MessageLite* /*reply*/,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream) {\n"
        "          ::verbena::ServerWriter<$reply$> streams(::std::move(stream));\n"
        "          return this->$method$(context, static_cast<const $request$*>(&request), &streams);\n"
        "        },\n",
    .callback_handler =
        "    .callback_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
        "               ::google::protobuf::MessageLite* /*reply*/,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream, ::verbena::Responder&& done) {\n"
        "          ::verbena::rpc::BindServerReactor(\n"
        "              this->$method$(context, static_cast<const $request$*>(&request)),\n"
        "              \"$path$\", ::std::move(stream), ::std::move(done));\n"
        "        },\n",
    .co_handler =
        "    .callback_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
        "               ::google::protobuf::MessageLite* /*reply*/,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream, ::verbena::Responder&& done) {\n"
        "          auto streams = ::std::make_unique<::verbena::CoServerWriter<$reply$>>(::std::move(stream));\n"
        "          auto handler = this->$method$(context, static_cast<const $request$*>(&request), streams.get());\n"
        "          ::verbena::rpc::RunCoHandler(context, ::std::move(handler), ::std::move(streams), "
        "::std::move(done));\n"
        "        },\n"
        "    .is_coroutine = true,\n",
    .service_default =
        "::absl::Status $service$::Service::$method$(::verbena::ServerContext* /*context*/, const $request$* "
        "/*request*/,\n"
        "    ::verbena::ServerWriter<$reply$>* /*writer*/) {\n"
        "  return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
    .callback_default =
        "::verbena::ServerWriteReactor<$reply$>* $service$::CallbackService::$method$(\n"
        "    ::verbena::ServerContext* /*context*/, const $request$* /*request*/) {\n"
        "  return nullptr;\n"
        "}\n"
        "\n",
    .co_default =
        "::verbena::Task<::absl::Status> $service$::CoService::$method$(::verbena::ServerContext* /*context*/,\n"
        "    const $request$* /*request*/, ::verbena::CoServerWriter<$reply$>* /*writer*/) {\n"
        "  co_return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
};

constexpr MethodText kBidiStreamingText = {
    .kind_field = "    .kind = ::verbena::MethodKind::kBidiStreaming,\n",
    .stub_declaration =
        "$virtual$::std::unique_ptr<::verbena::ClientReaderWriter<$request$, $reply$>> $method$(\n"
        "    ::verbena::ClientContext* context)$specifier$;\n",
    .async_declaration =
        "$virtual$void $method$(::verbena::ClientContext* context,\n"
        "    ::verbena::ClientBidiReactor<$request$, $reply$>* reactor)$specifier$;\n",
    .co_declaration =
        "::std::unique_ptr<::verbena::CoClientReaderWriter<$request$, $reply$>> $method$(\n"
        "    ::verbena::ClientContext* context);\n",
    .service_declaration =
        "virtual ::absl::Status $method$(::verbena::ServerContext* context,\n"
        "    ::verbena::ServerReaderWriter<$reply$, $request$>* stream);\n",
    .callback_declaration =
        "virtual ::verbena::ServerBidiReactor<$request$, $reply$>* $method$(\n"
        "    ::verbena::ServerContext* context);\n",
    .co_service_declaration =
        "virtual ::verbena::Task<::absl::Status> $method$(::verbena::ServerContext* context,\n"
        "    ::verbena::CoServerReaderWriter<$reply$, $request$>* stream);\n",
    .stub_definitions =
        "::std::unique_ptr<::verbena::ClientReaderWriter<$request$, $reply$>> $service$::Stub::$method$(\n"
        "    ::verbena::ClientContext* context) {\n"
        "  return ::std::make_unique<::verbena::ClientReaderWriter<$request$, $reply$>>(\n"
        "      channel_, ::verbena::rpc::StreamingMethod{\"$path$\", ::verbena::MethodKind::kBidiStreaming}, "
        "context);\n"
        "}\n"
        "\n"
        "void $service$::Stub::Async::$method$(::verbena::ClientContext* context,\n"
        "    ::verbena::ClientBidiReactor<$request$, $reply$>* reactor) {\n"
        "  reactor->Bind(channel_, {\"$path$\", ::verbena::MethodKind::kBidiStreaming}, context, nullptr,\n"
        "                nullptr);\n"
        "}\n"
        "\n"
        "::std::unique_ptr<::verbena::CoClientReaderWriter<$request$, $reply$>> $service$::Stub::Co::$method$(\n"
        "    ::verbena::ClientContext* context) {\n"
        "  return ::std::make_unique<::verbena::CoClientReaderWriter<$request$, $reply$>>(\n"
        "      channel_, ::verbena::rpc::StreamingMethod{\"$path$\", ::verbena::MethodKind::kBidiStreaming}, "
        "context);\n"
        "}\n"
        "\n",
    .blocking_handler =
        "    .blocking_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& /*request*/,\n"
        "               ::google::protobuf::MessageLite* /*reply*/,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream) {\n"
        "          ::verbena::ServerReaderWriter<$reply$, $request$> streams(::std::move(stream));\n"
        "          return this->$method$(context, &streams);\n"
        "        },\n",
    .callback_handler =
        "    .callback_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& /*request*/,\n"
        "               ::google::protobuf::MessageLite* /*reply*/,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream, ::verbena::Responder&& done) {\n"
        "          ::verbena::rpc::BindServerReactor(\n"
        "              this->$method$(context),\n"
        "              \"$path$\", ::std::move(stream), ::std::move(done));\n"
        "        },\n",
    .co_handler =
        "    .callback_stream =\n"
        "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& /*request*/,\n"
        "               ::google::protobuf::MessageLite* /*reply*/,\n"
        "               ::std::shared_ptr<::verbena::rpc::MessageStream> stream, ::verbena::Responder&& done) {\n"
        "          auto streams = ::std::make_unique<::verbena::CoServerReaderWriter<$reply$, "
        "$request$>>(::std::move(stream));\n"
        "          auto handler = this->$method$(context, streams.get());\n"
        "          ::verbena::rpc::RunCoHandler(context, ::std::move(handler), ::std::move(streams), "
        "::std::move(done));\n"
        "        },\n"
        "    .is_coroutine = true,\n",
    .service_default =
        "::absl::Status $service$::Service::$method$(::verbena::ServerContext* /*context*/,\n"
        "    ::verbena::ServerReaderWriter<$reply$, $request$>* /*stream*/) {\n"
        "  return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
    .callback_default =
        "::verbena::ServerBidiReactor<$request$, $reply$>* $service$::CallbackService::$method$(\n"
        "    ::verbena::ServerContext* /*context*/) {\n"
        "  return nullptr;\n"
        "}\n"
        "\n",
    .co_default =
        "::verbena::Task<::absl::Status> $service$::CoService::$method$(::verbena::ServerContext* /*context*/,\n"
        "    ::verbena::CoServerReaderWriter<$reply$, $request$>* /*stream*/) {\n"
        "  co_return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
        "}\n"
        "\n",
};

}  // namespace

const MethodText& TextOf(const MethodModel& method) {
  if (method.client_streams) return method.server_streams ? kBidiStreamingText : kClientStreamingText;
  return method.server_streams ? kServerStreamingText : kUnaryText;
}

}  // namespace verbena::codegen
