#include "codegen/generator.h"

#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "codegen/descriptor_reader.h"
#include "codegen/header_printer.h"
#include "codegen/mock_printer.h"
#include "codegen/options.h"
#include "codegen/source_printer.h"
#include "google/protobuf/io/printer.h"
#include "google/protobuf/io/zero_copy_stream.h"

namespace verbena::codegen {
namespace {

void WriteFile(const std::string& name, const std::string& text,
               google::protobuf::compiler::GeneratorContext* context) {
  const std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> file(context->Open(name));
  google::protobuf::io::Printer printer(file.get(), '$');
  printer.WriteRaw(text.data(), static_cast<int>(text.size()));
}

}  // namespace

// The mocks of one file must not be written over the stubs of another.
bool Generator::GenerateAll(const std::vector<const google::protobuf::FileDescriptor*>& files,
                            const std::string& parameter, google::protobuf::compiler::GeneratorContext* context,
                            std::string* error) const {
  const absl::StatusOr<Options> options = ParseOptions(parameter);
  std::map<std::string, std::string> stubs;  // The file of each header.
  for (const auto* file : files) stubs[StubsHeaderOf(*file)] = file->name();
  for (const auto* file : files) {
    const std::string mocks = MockHeaderOf(*file);
    if (!options.ok() || !options->generate_mock_code || !stubs.contains(mocks)) continue;
    *error = absl::StrCat(file->name(), ": its mocks would be in ", mocks, ", where the stubs of ", stubs[mocks],
                          " are; give one of the two another name");
    return false;
  }
  return CodeGenerator::GenerateAll(files, parameter, context, error);
}

bool Generator::Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                         google::protobuf::compiler::GeneratorContext* context, std::string* error) const {
  const absl::StatusOr<Options> options = ParseOptions(parameter);
  if (!options.ok()) {
    *error = std::string(options.status().message());
    return false;
  }
  const absl::StatusOr<FileModel> model = ReadFile(*file);
  if (!model.ok()) {
    *error = std::string(model.status().message());
    return false;
  }
  WriteFile(model->stubs_header, PrintHeader(*model, *options), context);
  if (options->generate_mock_code) WriteFile(model->mock_header, PrintMockHeader(*model), context);
  WriteFile(model->stubs_source, PrintSource(*model), context);
  return true;
}

}  // namespace verbena::codegen
