// What is generated for one method, by its kind: declarations and definitions, with $variables$ for the printer
// (shared_printing.h).

#ifndef VERBENA_CODEGEN_METHOD_TEXT_H_
#define VERBENA_CODEGEN_METHOD_TEXT_H_

#include "codegen/model.h"

namespace verbena::codegen {

struct MethodText {
  const char* kind_field;  // Of a ::verbena::Method; empty for the default.
  // In the header: members of Stub and Stub::Async, which $virtual$ and $specifier$ make those of their interfaces or
  // overrides of those; of Stub::Co, Service, CallbackService and CoService.
  const char* stub_declaration;
  const char* async_declaration;
  const char* co_declaration;
  const char* service_declaration;
  const char* callback_declaration;
  const char* co_service_declaration;
  // In the source: of the stubs, all three.
  const char* stub_definitions;
  // Fields of a ::verbena::Method, for a Service, a CallbackService and a CoService.
  const char* blocking_handler;
  const char* callback_handler;
  const char* co_handler;
  // What a method does that is not overridden.
  const char* service_default;
  const char* callback_default;
  const char* co_default;
};

const MethodText& TextOf(const MethodModel& method);

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_METHOD_TEXT_H_
