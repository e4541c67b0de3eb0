#include "codegen/source_printer.h"

#include "codegen/shared_printing.h"

namespace verbena::codegen {
namespace {

using google::protobuf::io::Printer;

void PrintStubMethods(const ServiceModel& service, Printer& printer) {
  for (const MethodModel& method : service.methods) {
    printer.Print(VariablesOf(service, method),
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
                  "\n");
  }
}

constexpr char kBlockingHandler[] =
    "    .blocking =\n"
    "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
    "               ::google::protobuf::MessageLite* reply) {\n"
    "          return this->$method$(context, static_cast<const $request$*>(&request),\n"
    "                                static_cast<$reply$*>(reply));\n"
    "        },\n"
    "    .callback = nullptr,\n";

constexpr char kCallbackHandler[] =
    "    .blocking = nullptr,\n"
    "    .callback =\n"
    "        [this](::verbena::ServerContext* context, const ::google::protobuf::MessageLite& request,\n"
    "               ::google::protobuf::MessageLite* reply, ::verbena::Responder done) {\n"
    "          this->$method$(context, static_cast<const $request$*>(&request),\n"
    "                         static_cast<$reply$*>(reply), ::std::move(done));\n"
    "        },\n";

// The constructor, which lists the methods, and full_name. A handler captures `this`: services are not copied.
void PrintMethodTable(const ServiceModel& service, const char* class_name, const char* handler, Printer& printer) {
  Variables variables = VariablesOf(service);
  variables["class"] = class_name;
  printer.Print(variables, "$service$::$class$::$class$() {\n");
  for (const MethodModel& method : service.methods) {
    const Variables method_variables = VariablesOf(service, method);
    printer.Print(method_variables,
                  "  methods_.push_back({\n"
                  "    .name = \"$name$\",\n"
                  "    .new_request = []() -> ::std::unique_ptr<::google::protobuf::MessageLite> {\n"
                  "      return ::std::make_unique<$request$>();\n"
                  "    },\n"
                  "    .new_reply = []() -> ::std::unique_ptr<::google::protobuf::MessageLite> {\n"
                  "      return ::std::make_unique<$reply$>();\n"
                  "    },\n");
    printer.Print(method_variables, handler);
    printer.Print("  });\n");
  }
  printer.Print(variables,
                "}\n"
                "\n"
                "const ::std::string& $service$::$class$::full_name() const {\n"
                "  static const auto* const name = new ::std::string(kFullName);\n"
                "  return *name;\n"
                "}\n"
                "\n");
}

void PrintBlockingDefaults(const ServiceModel& service, Printer& printer) {
  for (const MethodModel& method : service.methods) {
    printer.Print(VariablesOf(service, method),
                  "::absl::Status $service$::Service::$method$(::verbena::ServerContext* /*context*/,\n"
                  "    const $request$* /*request*/, $reply$* /*reply*/) {\n"
                  "  return ::absl::UnimplementedError(\"$path$ is not implemented by this server\");\n"
                  "}\n"
                  "\n");
  }
}

void PrintCallbackDefaults(const ServiceModel& service, Printer& printer) {
  for (const MethodModel& method : service.methods) {
    printer.Print(VariablesOf(service, method),
                  "void $service$::CallbackService::$method$(::verbena::ServerContext* /*context*/,\n"
                  "    const $request$* /*request*/, $reply$* /*reply*/, ::verbena::Responder done) {\n"
                  "  done(::absl::UnimplementedError(\"$path$ is not implemented by this server\"));\n"
                  "}\n"
                  "\n");
  }
}

}  // namespace

std::string PrintSource(const FileModel& file) {
  return PrintToString([&](Printer& printer) {
    PrintBanner(file, printer);
    printer.Print("#include \"$header$\"\n\n", "header", file.stubs_header);
    PrintNamespaceBegin(file, printer);
    for (const ServiceModel& service : file.services) {
      PrintStubMethods(service, printer);
      PrintMethodTable(service, "Service", kBlockingHandler, printer);
      PrintBlockingDefaults(service, printer);
      PrintMethodTable(service, "CallbackService", kCallbackHandler, printer);
      PrintCallbackDefaults(service, printer);
    }
    PrintNamespaceEnd(file, printer);
  });
}

}  // namespace verbena::codegen
