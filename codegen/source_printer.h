// Prints the .verbena.cc of a file. Pure.

#ifndef VERBENA_CODEGEN_SOURCE_PRINTER_H_
#define VERBENA_CODEGEN_SOURCE_PRINTER_H_

#include <string>

#include "codegen/model.h"

namespace verbena::codegen {

std::string PrintSource(const FileModel& file);

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_SOURCE_PRINTER_H_
