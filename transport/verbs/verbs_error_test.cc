#include "transport/verbs/verbs_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace verbena::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VerbsError, PositiveResultIsTheErrno) { EXPECT_EQ(ErrorNumber(EBUSY), EBUSY); }

TEST(VerbsError, NegativeResultTakesErrno) {
  errno = ENOSPC;
  EXPECT_EQ(ErrorNumber(-1), ENOSPC);
}

TEST(VerbsError, FailureWithoutErrnoIsStillAnError) {
  errno = 0;
  EXPECT_EQ(ErrorNumber(-1), EIO);
}

TEST(VerbsError, NamesOperationErrnoAndObject) {
  EXPECT_EQ(CallError("ibv_create_cq", EINVAL, "mlx5_0, 4096 entries"),
            absl::InvalidArgumentError("ibv_create_cq failed: Invalid argument (mlx5_0, 4096 entries)"));
}

TEST(VerbsError, EmptyObjectLeavesNoBrackets) {
  EXPECT_EQ(CallError("rdma_listen", EADDRINUSE, "").message(), "rdma_listen failed: Address already in use");
}

TEST(VerbsError, WantOfLockableMemoryNamesTheLimit) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  rlimit low = {.rlim_cur = 65536, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &low), 0);
  absl::Status error = PinningError("ibv_reg_mr", ENOMEM, "1048576 bytes");
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);

  EXPECT_EQ(error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(error.message(), HasSubstr("RLIMIT_MEMLOCK) is 65536 bytes"));
  EXPECT_THAT(error.message(), HasSubstr("ulimit -l unlimited"));
}

TEST(VerbsError, WantOfDescriptorsNamesTheLimit) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  absl::Status error = CallError("rdma_connect", EMFILE, "peer 10.0.0.1:7");
  EXPECT_EQ(error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(error.message(), HasSubstr("rdma_connect failed: Too many open files (peer 10.0.0.1:7)"));
  EXPECT_THAT(error.message(), HasSubstr(absl::StrCat("(RLIMIT_NOFILE) is ", limit.rlim_cur, ": raise it")));
}

TEST(VerbsError, OtherPinningErrorsDoNotBlameTheLimit) {
  EXPECT_THAT(PinningError("ibv_reg_mr", EFAULT, "").message(), Not(HasSubstr("MEMLOCK")));
}

absl::Status ErrorOf(ibv_wc_status status) {
  ibv_wc completion = {};
  completion.status = status;
  completion.qp_num = 17;
  completion.vendor_err = 0x81;
  return CompletionError(completion, "send");
}

TEST(CompletionError, NamesStatusQueuePairAndVendorError) {
  EXPECT_EQ(ErrorOf(IBV_WC_REM_ACCESS_ERR),
            absl::InternalError("send failed: remote access error (queue pair 17, vendor error 0x81)"));
}

TEST(CompletionError, FlushIsCancelled) { EXPECT_TRUE(absl::IsCancelled(ErrorOf(IBV_WC_WR_FLUSH_ERR))); }

TEST(CompletionError, SilentPeerIsUnavailable) {
  EXPECT_TRUE(absl::IsUnavailable(ErrorOf(IBV_WC_RETRY_EXC_ERR)));
  EXPECT_TRUE(absl::IsUnavailable(ErrorOf(IBV_WC_RNR_RETRY_EXC_ERR)));
}

TEST(CompletionError, StatusUnknownToTheHeaderIsInternal) {
  EXPECT_TRUE(absl::IsInternal(ErrorOf(static_cast<ibv_wc_status>(30))));
}

}  // namespace
}  // namespace verbena::verbs
