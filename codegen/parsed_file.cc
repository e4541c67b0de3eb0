#include "codegen/parsed_file.h"

#include <stdexcept>

#include "google/protobuf/compiler/importer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gtest/gtest.h"

namespace verbena::codegen {
namespace {

class TextTree final : public google::protobuf::compiler::SourceTree {
 public:
  explicit TextTree(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  google::protobuf::io::ZeroCopyInputStream* Open(const std::string& path) override {
    const auto file = files_.find(path);
    if (file == files_.end()) return nullptr;
    return new google::protobuf::io::ArrayInputStream(file->second.data(), static_cast<int>(file->second.size()));
  }

 private:
  const std::map<std::string, std::string> files_;
};

class FailingCollector final : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
  void AddError(const std::string& file, int line, int column, const std::string& message) override {
    ADD_FAILURE() << file << ":" << line + 1 << ":" << column + 1 << ": " << message;
  }
};

}  // namespace

class ParsedFile::Sources {
 public:
  explicit Sources(const std::map<std::string, std::string>& files) : tree_(files), importer_(&tree_, &errors_) {}
  const google::protobuf::FileDescriptor* Import(const std::string& path) { return importer_.Import(path); }

 private:
  TextTree tree_;
  FailingCollector errors_;
  google::protobuf::compiler::Importer importer_;
};

ParsedFile::ParsedFile(const std::map<std::string, std::string>& files, const std::string& path)
    : sources_(std::make_unique<Sources>(files)), file_(sources_->Import(path)) {
  if (file_ == nullptr) throw std::runtime_error("the test's .proto does not parse: " + path);
}

ParsedFile::~ParsedFile() = default;

}  // namespace verbena::codegen
