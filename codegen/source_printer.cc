#include "codegen/source_printer.h"

#include "codegen/method_text.h"
#include "codegen/shared_printing.h"

namespace verbena::codegen {
namespace {

using google::protobuf::io::Printer;

void PrintStubMethods(const ServiceModel& service, Printer& printer) {
  for (const MethodModel& method : service.methods) {
    printer.Print(VariablesOf(service, method), TextOf(method).stub_definitions);
  }
}

// The constructor, which lists the methods, and full_name. A handler captures `this`: services are not copied.
void PrintMethodTable(const ServiceModel& service, const char* class_name, const char* MethodText::*handler,
                      Printer& printer) {
  Variables variables = VariablesOf(service);
  variables["class"] = class_name;
  printer.Print(variables, "$service$::$class$::$class$() {\n");
  for (const MethodModel& method : service.methods) {
    Variables method_variables = VariablesOf(service, method);
    method_variables["kind"] = TextOf(method).kind_field;
    printer.Print(method_variables,
                  "  methods_.push_back({\n"
                  "    .name = \"$name$\",\n"
                  "$kind$"
                  "    .new_request = []() -> ::std::unique_ptr<::google::protobuf::MessageLite> {\n"
                  "      return ::std::make_unique<$request$>();\n"
                  "    },\n"
                  "    .new_reply = []() -> ::std::unique_ptr<::google::protobuf::MessageLite> {\n"
                  "      return ::std::make_unique<$reply$>();\n"
                  "    },\n");
    printer.Print(method_variables, TextOf(method).*handler);
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

void PrintDefaults(const ServiceModel& service, const char* MethodText::*text, Printer& printer) {
  for (const MethodModel& method : service.methods) printer.Print(VariablesOf(service, method), TextOf(method).*text);
}

}  // namespace

std::string PrintSource(const FileModel& file) {
  return PrintToString([&](Printer& printer) {
    PrintBanner(file, printer);
    printer.Print("#include \"$header$\"\n\n", "header", file.stubs_header);
    PrintNamespaceBegin(file, printer);
    for (const ServiceModel& service : file.services) {
      PrintStubMethods(service, printer);
      PrintMethodTable(service, "Service", &MethodText::blocking_handler, printer);
      PrintDefaults(service, &MethodText::service_default, printer);
      PrintMethodTable(service, "CallbackService", &MethodText::callback_handler, printer);
      PrintDefaults(service, &MethodText::callback_default, printer);
      PrintMethodTable(service, "CoService", &MethodText::co_handler, printer);
      PrintDefaults(service, &MethodText::co_default, printer);
    }
    PrintNamespaceEnd(file, printer);
  });
}

}  // namespace verbena::codegen
