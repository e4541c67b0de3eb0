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

void PrintClass(const ServiceModel& service, const char* begin, const char* MockText::*form, const char* end,
                Printer& printer) {
  printer.Print(VariablesOf(service), begin);
  printer.Indent();
  PrintMethods(service, form, printer);
  printer.Print(end);
  printer.Outdent();
  printer.Print("};\n\n");
}

void PrintMockStub(const ServiceModel& service, Printer& printer) {
  PrintClass(service,
             "class $service$::MockAsync : public $service$::StubInterface::AsyncInterface {\n"
             " public:\n",
             &MockText::async, "", printer);
  PrintClass(service,
             "// NiceMock and StrictMock know a mock by its address, which is that of its first base.\n"
             "class $service$::MockStub : public $service$::MockAsync, public $service$::StubInterface {\n"
             " public:\n",
             &MockText::blocking, "MockAsync* async() override { return this; }\n", printer);
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
