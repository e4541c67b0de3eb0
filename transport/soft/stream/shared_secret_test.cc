#include "transport/soft/stream/shared_secret.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

class SecretFile : public ::testing::Test {
 protected:
  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_, std::ios::binary) << text;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  absl::StatusCode Code() const { return SharedSecret::ReadFrom(path_).status().code(); }

  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/secret-", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(SecretFile, IsReadWithoutTheNewlineAtItsEnd) {
  Write("0123456789abcdef\n");
  absl::StatusOr<SharedSecret> secret = SharedSecret::ReadFrom(path_);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(secret->Prove({}), SharedSecret("0123456789abcdef").Prove({}));
}

TEST_F(SecretFile, OpenToOthersIsRefused) {
  Write("0123456789abcdef", 0640);
  EXPECT_EQ(Code(), absl::StatusCode::kPermissionDenied);
  Write("0123456789abcdef", 0604);
  EXPECT_EQ(Code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(SecretFile, TooShortOrTooLongIsRefused) {
  Write("0123456789abcde\n");
  EXPECT_EQ(Code(), absl::StatusCode::kFailedPrecondition);
  Write(std::string(kSecretBytesMax + 1, 'x'));
  EXPECT_EQ(Code(), absl::StatusCode::kFailedPrecondition);
  Write(std::string(kSecretBytesMax, 'x'));
  EXPECT_EQ(Code(), absl::StatusCode::kOk);
}

TEST_F(SecretFile, MissingOneIsAnErrorNotNoSecret) {
  setenv("VERBENA_SOFT_SECRET_FILE", path_.c_str(), 1);
  EXPECT_EQ(SharedSecret::OfEnvironment().status().code(), absl::StatusCode::kNotFound);
  unsetenv("VERBENA_SOFT_SECRET_FILE");
  absl::StatusOr<std::optional<SharedSecret>> none = SharedSecret::OfEnvironment();
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST_F(SecretFile, DirectoryIsRefused) {
  EXPECT_EQ(SharedSecret::ReadFrom(::testing::TempDir()).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace verbena::soft
