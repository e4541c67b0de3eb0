// Prints the .verbena.h of a file. Pure.

#ifndef VERBENA_CODEGEN_HEADER_PRINTER_H_
#define VERBENA_CODEGEN_HEADER_PRINTER_H_

#include <string>

#include "codegen/model.h"
#include "codegen/options.h"

namespace verbena::codegen {

std::string PrintHeader(const FileModel& file, const Options& options);

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_HEADER_PRINTER_H_
