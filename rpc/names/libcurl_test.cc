#include "rpc/names/libcurl.h"

#include <dlfcn.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace verbena::rpc {
namespace {

using ::testing::HasSubstr;

bool IsLoaded() { return dlopen(kLibCurlFile, RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

// Once in a process: it stays.
TEST(LibCurlTest, IsLoadedByWhoAsksForItAndNotWithTheProgram) {
  EXPECT_FALSE(IsLoaded());
  const absl::StatusOr<const LibCurl*> curl = TheLibCurl();
  ASSERT_TRUE(curl.ok()) << curl.status();
  EXPECT_TRUE(IsLoaded());
  CURL* request = (*curl)->easy_init();
  EXPECT_NE(request, nullptr);
  (*curl)->easy_cleanup(request);
}

TEST(LibCurlTest, WhoHasNoneIsToldWhich) {
  const absl::Status status = LoadLibCurl("libcurl.so.0").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("libcurl.so.0"));
}

TEST(LibCurlTest, ALibraryOfThatNameWithoutTheFunctionsIsRefused) {
  const absl::Status status = LoadLibCurl("libc.so.6").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("curl_global_init"));
}

}  // namespace
}  // namespace verbena::rpc
