#include "codegen/header_printer.h"

#include "absl/strings/str_cat.h"
#include "codegen/method_text.h"
#include "codegen/shared_printing.h"

namespace verbena::codegen {
namespace {

using google::protobuf::io::Printer;

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
      "$reactors$"
      "#include \"$runtime$rpc/service.h\"\n"
      "#include \"$runtime$rpc/unary_call.h\"\n"
      "\n",
      "guard", file.include_guard, "messages_header", file.messages_header, "reactors",
      file.has_streams ? absl::StrCat("#include \"", options.runtime_include_dir, "rpc/reactors.h\"\n") : "", "runtime",
      options.runtime_include_dir);
}

void PrintAsyncClass(const ServiceModel& service, Printer& printer) {
  printer.Print(
      "// The calls with a callback, which runs exactly once, on the channel's event loop, and must not block.\n"
      "// context, request and reply must live until then.\n"
      "class Async {\n"
      " public:\n");
  for (const MethodModel& method : service.methods) {
    printer.Indent();
    PrintComment(method.comment, printer);
    printer.Print(VariablesOf(service, method), TextOf(method).async_declaration);
    printer.Outdent();
  }
  printer.Print(
      "\n"
      " private:\n"
      "  friend class Stub;\n"
      "  explicit Async(::verbena::Channel* channel) : channel_(channel) {}\n"
      "\n"
      "  ::verbena::Channel* channel_;\n"
      "};\n");
}

void PrintStubClass(const ServiceModel& service, Printer& printer) {
  printer.Print(
      "// The client's side. Any thread. Copies share the channel, which lives at least as long as they do.\n"
      "class Stub {\n"
      " public:\n");
  printer.Indent();
  PrintAsyncClass(service, printer);
  printer.Print(
      "\n"
      "explicit Stub(::std::shared_ptr<::verbena::Channel> channel)\n"
      "    : channel_(::std::move(channel)), async_(channel_.get()) {}\n"
      "\n");
  for (const MethodModel& method : service.methods) {
    PrintComment(method.comment, printer);
    printer.Print(VariablesOf(service, method), TextOf(method).stub_declaration);
  }
  printer.Print("\nAsync* async() { return &async_; }\n");
  printer.Outdent();
  printer.Print(
      "\n"
      " private:\n"
      "  ::std::shared_ptr<::verbena::Channel> channel_;\n"
      "  Async async_;\n"
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
  for (const MethodModel& method : service.methods) {
    PrintComment(method.comment, printer);
    printer.Print(VariablesOf(service, method), TextOf(method).*declaration);
  }
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

void PrintService(const ServiceModel& service, Printer& printer) {
  PrintComment(service.comment, printer);
  printer.Print(VariablesOf(service),
                "class $service$ final {\n"
                " public:\n"
                "  static constexpr char kFullName[] = \"$full_name$\";\n"
                "\n"
                "  $service$() = delete;\n"
                "\n");
  printer.Indent();
  PrintStubClass(service, printer);
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
  printer.Outdent();
  printer.Print("};\n\n");
}

}  // namespace

std::string PrintHeader(const FileModel& file, const Options& options) {
  return PrintToString([&](Printer& printer) {
    PrintBanner(file, printer);
    PrintIncludes(file, options, printer);
    PrintNamespaceBegin(file, printer);
    for (const ServiceModel& service : file.services) PrintService(service, printer);
    PrintNamespaceEnd(file, printer);
    printer.Print("\n#endif  // $guard$\n", "guard", file.include_guard);
  });
}

}  // namespace verbena::codegen
