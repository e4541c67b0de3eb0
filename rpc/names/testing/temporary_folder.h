// A folder for one test, removed with all that is in it.

#ifndef VERBENA_RPC_NAMES_TESTING_TEMPORARY_FOLDER_H_
#define VERBENA_RPC_NAMES_TESTING_TEMPORARY_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace verbena::rpc {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(::testing::TempDir() + "/names.XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no temporary folder can be made: " << path_;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  // In place.
  void Write(const std::string& name, const std::string& text) const { std::ofstream(Path(name)) << text; }
  // By a rename, as one should.
  void Replace(const std::string& name, const std::string& text) const {
    Write(name + ".new", text);
    std::filesystem::rename(Path(name + ".new"), Path(name));
  }

 private:
  std::string path_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_TESTING_TEMPORARY_FOLDER_H_
