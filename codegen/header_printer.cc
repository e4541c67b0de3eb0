#include "codegen/header_printer.h"

#include "absl/strings/str_cat.h"
#include "codegen/method_text.h"
#include "codegen/shared_printing.h"

namespace verbena::codegen {
namespace {

using google::protobuf::io::Printer;

std::string StreamIncludes(const FileModel& file, const Options& options) {
  if (!file.has_streams) return "";
  std::string includes;
  for (const char* header : {"co_client_stream.h", "co_server_stream.h", "reactors.h"}) {
    absl::StrAppend(&includes, "#include \"", options.runtime_include_dir, "rpc/", header, "\"\n");
  }
  return includes;
}

void PrintIncludes(const FileModel& file, const Options& options, Printer& printer) {
  printer.Print(
      "#ifndef $guard$\n"
      "#define $guard$\n"
      "\n"
      "#include <memory>\n"
      "#include <string>\n"
      "#include <utility>\n"
      "#include <vector>\n"
      "\n"
      "#include \"absl/status/status.h\"\n"
      "#include \"$messages_header$\"\n"
      "$streams$"
      "#include \"$runtime$rpc/co_handler.h\"\n"
      "#include \"$runtime$rpc/co_unary_call.h\"\n"
      "#include \"$runtime$rpc/service.h\"\n"
      "#include \"$runtime$rpc/unary_call.h\"\n"
      "\n",
      "guard", file.include_guard, "messages_header", file.messages_header, "streams", StreamIncludes(file, options),
      "runtime", options.runtime_include_dir);
}

void PrintDeclarations(const ServiceModel& service, const char* MethodText::*declaration, const Virtuality& virtuality,
                       Printer& printer) {
  for (const MethodModel& method : service.methods) {
    PrintComment(method.comment, printer);
    printer.Print(VariablesOf(service, method, virtuality), TextOf(method).*declaration);
  }
}

// A member class of the stub: its calls in another form.
struct FormClass {
  const char* name;
  const char* bases;  // " : public …", or empty.
  const char* introduction;
  const char* MethodText::*declaration;
  Virtuality virtuality;
};

void PrintFormClass(const ServiceModel& service, const FormClass& form, Printer& printer) {
  const Variables variables = {{"class", form.name}, {"bases", form.bases}};
  printer.Print(form.introduction);
  printer.Print(variables,
                "class $class$$bases$ {\n"
                " public:\n");
  printer.Indent();
  PrintDeclarations(service, form.declaration, form.virtuality, printer);
  printer.Outdent();
  printer.Print(variables,
                "\n"
                " private:\n"
                "  friend class Stub;\n"
                "  explicit $class$(::verbena::Channel* channel) : channel_(channel) {}\n"
                "\n"
                "  ::verbena::Channel* channel_;\n"
                "};\n");
}

// What callers depend on that are tested with MockStub, which is defined, with MockAsync, in a header of its own.
void PrintStubInterface(const ServiceModel& service, Printer& printer) {
  printer.Print(
      "// What Stub implements, for callers that are tested with a MockStub (FILE_mock.verbena.h).\n"
      "class StubInterface {\n"
      " public:\n"
      "  class AsyncInterface {\n"
      "   public:\n"
      "    virtual ~AsyncInterface() = default;\n");
  printer.Indent();
  printer.Indent();
  PrintDeclarations(service, &MethodText::async_declaration, kPureVirtual, printer);
  printer.Outdent();
  printer.Print(
      "};\n"
      "\n"
      "virtual ~StubInterface() = default;\n");
  PrintDeclarations(service, &MethodText::stub_declaration, kPureVirtual, printer);
  printer.Print("virtual AsyncInterface* async() = 0;\n");
  printer.Outdent();
  printer.Print(
      "};\n"
      "class MockAsync;\n"
      "class MockStub;\n"
      "\n");
}

void PrintStubClass(const ServiceModel& service, const Options& options, Printer& printer) {
  const bool mockable = options.generate_mock_code;
  const Virtuality virtuality = mockable ? kOverride : Virtuality();
  printer.Print(
      "// The client's side. Any thread. Copies share the channel, which lives at least as long as they do.\n"
      "class Stub$bases$ {\n"
      " public:\n",
      "bases", mockable ? " final : public StubInterface" : "");
  printer.Indent();
  PrintFormClass(service,
                 {"Async", mockable ? " final : public AsyncInterface" : "",
                  "// The calls with a callback, which runs exactly once, on the channel's event loop, and must not "
                  "block.\n"
                  "// context, request and reply must live until then.\n",
                  &MethodText::async_declaration, virtuality},
                 printer);
  printer.Print("\n");
  PrintFormClass(service,
                 {"Co", "",
                  "// The calls for coroutines: what they return is awaited. context, request and reply must live "
                  "until\n"
                  "// then, or until the coroutine is destroyed, which cancels the call.\n",
                  &MethodText::co_declaration, Virtuality()},
                 printer);
  printer.Print(
      "\n"
      "explicit Stub(::std::shared_ptr<::verbena::Channel> channel)\n"
      "    : channel_(::std::move(channel)), async_(channel_.get()), co_(channel_.get()) {}\n"
      "\n");
  PrintDeclarations(service, &MethodText::stub_declaration, virtuality, printer);
  printer.Print(
      "\n"
      "Async* async()$specifier$ { return &async_; }\n"
      "Co* co() { return &co_; }\n",
      "specifier", virtuality.after);
  printer.Outdent();
  printer.Print(
      "\n"
      " private:\n"
      "  ::std::shared_ptr<::verbena::Channel> channel_;\n"
      "  Async async_;\n"
      "  Co co_;\n"
      "};\n");
}

// A server-side base class. `introduction` and `declaration` are what differs between the blocking and the callback
// one.
void PrintServiceClass(const ServiceModel& service, const char* name, const char* introduction,
                       const char* MethodText::*declaration, Printer& printer) {
  printer.Print(introduction);
  printer.Print(
      "class $class$ : public ::verbena::Service {\n"
      " public:\n"
      "  $class$();\n"
      "  $class$(const $class$&) = delete;\n"
      "  $class$& operator=(const $class$&) = delete;\n"
      "\n",
      "class", name);
  printer.Indent();
  PrintDeclarations(service, declaration, Virtuality(), printer);
  if (!service.methods.empty()) printer.Print("\n");
  printer.Outdent();
  printer.Print(
      "  const ::std::string& full_name() const final;\n"
      "  const ::std::vector<::verbena::Method>& methods() const final { return methods_; }\n"
      "\n"
      " private:\n"
      "  ::std::vector<::verbena::Method> methods_;\n"
      "};\n");
}

void PrintService(const ServiceModel& service, const Options& options, Printer& printer) {
  PrintComment(service.comment, printer);
  printer.Print(VariablesOf(service),
                "class $service$ final {\n"
                " public:\n"
                "  static constexpr char kFullName[] = \"$full_name$\";\n"
                "\n"
                "  $service$() = delete;\n"
                "\n");
  printer.Indent();
  if (options.generate_mock_code) PrintStubInterface(service, printer);
  PrintStubClass(service, options, printer);
  printer.Print("\n");
  PrintServiceClass(
      service, "Service",
      "// A server's side, blocking: handlers run on the server's executor, many at a time. A method that\n"
      "// is not overridden fails as UNIMPLEMENTED.\n",
      &MethodText::service_declaration, printer);
  printer.Print("\n");
  PrintServiceClass(
      service, "CallbackService",
      "// A server's side, on the event loop: handlers must not block. request and reply live until `done`\n"
      "// has been called. A method that is not overridden fails as UNIMPLEMENTED.\n",
      &MethodText::callback_declaration, printer);
  printer.Print("\n");
  PrintServiceClass(
      service, "CoService",
      "// A server's side, as coroutines on the event loop: handlers must not block. What they are given lives\n"
      "// until their task has finished. A method that is not overridden fails as UNIMPLEMENTED.\n",
      &MethodText::co_service_declaration, printer);
  printer.Outdent();
  printer.Print("};\n\n");
}

}  // namespace

std::string PrintHeader(const FileModel& file, const Options& options) {
  return PrintToString([&](Printer& printer) {
    PrintBanner(file, printer);
    PrintIncludes(file, options, printer);
    PrintNamespaceBegin(file, printer);
    for (const ServiceModel& service : file.services) PrintService(service, options, printer);
    PrintNamespaceEnd(file, printer);
    printer.Print("\n#endif  // $guard$\n", "guard", file.include_guard);
  });
}

}  // namespace verbena::codegen
