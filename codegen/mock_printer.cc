#include "codegen/mock_printer.h"

#include "codegen/shared_printing.h"

namespace verbena::codegen {
namespace {

using google::protobuf::io::Printer;

// The mock methods of one method, by its kind. Types with commas stand in parentheses, as MOCK_METHOD wants them.
struct MockText {
  const char* blocking;
  const char* async;
};

constexpr MockText kUnaryMock = {
    .blocking =
        "MOCK_METHOD(::absl::Status, $method$,\n"
        "            (::verbena::ClientContext* context, const $request$& request, $reply$* reply), (override));\n",
    .async =
        "MOCK_METHOD(void, $method$,\n"
        "            (::verbena::ClientContext* context, const $request$* request, $reply$* reply,\n"
        "             ::verbena::CallDone done),\n"
        "            (override));\n",
};
constexpr MockText kClientStreamingMock = {
    .blocking =
        "MOCK_METHOD(::std::unique_ptr<::verbena::ClientWriter<$request$>>, $method$,\n"
        "            (::verbena::ClientContext* context, $reply$* reply), (override));\n",
    .async =
        "MOCK_METHOD(void, $method$,\n"
        "            (::verbena::ClientContext* context, $reply$* reply,\n"
        "             ::verbena::ClientWriteReactor<$request$>* reactor),\n"
        "            (override));\n",
};
constexpr MockText kServerStreamingMock = {
    .blocking =
        "MOCK_METHOD(::std::unique_ptr<::verbena::ClientReader<$reply$>>, $method$,\n"
        "            (::verbena::ClientContext* context, const $request$& request), (override));\n",
    .async =
        "MOCK_METHOD(void, $method$,\n"
        "            (::verbena::ClientContext* context, const $request$* request,\n"
        "             ::verbena::ClientReadReactor<$reply$>* reactor),\n"
        "            (override));\n",
};
constexpr MockText kBidiStreamingMock = {
    .blocking =
        "MOCK_METHOD((::std::unique_ptr<::verbena::ClientReaderWriter<$request$, $reply$>>), $method$,\n"
        "            (::verbena::ClientContext* context), (override));\n",
    .async =
        "MOCK_METHOD(void, $method$,\n"
        "            (::verbena::ClientContext* context,\n"
        "             (::verbena::ClientBidiReactor<$request$, $reply$>*) reactor),\n"
        "            (override));\n",
};

const MockText& MockOf(const MethodModel& method) {
  if (method.client_streams) return method.server_streams ? kBidiStreamingMock : kClientStreamingMock;
  return method.server_streams ? kServerStreamingMock : kUnaryMock;
}

void PrintMethods(const ServiceModel& service, const char* MockText::*form, Printer& printer) {
  for (const MethodModel& method : service.methods) printer.Print(VariablesOf(service, method), MockOf(method).*form);
}

void PrintMockStub(const ServiceModel& service, Printer& printer) {
  printer.Print(VariablesOf(service),
                "class $service$::MockStub : public $service$::StubInterface {\n"
                " public:\n"
                "  class MockAsync : public $service$::StubInterface::AsyncInterface {\n"
                "   public:\n");
  printer.Indent();
  printer.Indent();
  PrintMethods(service, &MockText::async, printer);
  printer.Outdent();
  printer.Print(
      "};\n"
      "\n");
  PrintMethods(service, &MockText::blocking, printer);
  printer.Print("MockAsync* async() override { return &async_; }\n");
  printer.Outdent();
  printer.Print(
      "\n"
      " private:\n"
      "  MockAsync async_;\n"
      "};\n"
      "\n");
}

}  // namespace

std::string PrintMockHeader(const FileModel& file) {
  return PrintToString([&](Printer& printer) {
    PrintBanner(file, printer);
    printer.Print(
        "// For tests; needs gMock.\n"
        "\n"
        "#ifndef $guard$_mock\n"
        "#define $guard$_mock\n"
        "\n"
        "#include <gmock/gmock.h>\n"
        "\n"
        "#include <memory>\n"
        "\n"
        "#include \"$stubs_header$\"\n"
        "\n",
        "guard", file.include_guard, "stubs_header", file.stubs_header);
    PrintNamespaceBegin(file, printer);
    for (const ServiceModel& service : file.services) PrintMockStub(service, printer);
    PrintNamespaceEnd(file, printer);
    printer.Print("\n#endif  // $guard$_mock\n", "guard", file.include_guard);
  });
}

}  // namespace verbena::codegen
