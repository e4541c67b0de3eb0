// Prints the _mock.verbena.h of a file: for each service a MockStub that implements its StubInterface. Pure.

#ifndef VERBENA_CODEGEN_MOCK_PRINTER_H_
#define VERBENA_CODEGEN_MOCK_PRINTER_H_

#include <string>

#include "codegen/model.h"

namespace verbena::codegen {

std::string PrintMockHeader(const FileModel& file);

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_MOCK_PRINTER_H_
