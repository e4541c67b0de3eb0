#include "rpc/core/balancing/call_outcome.h"

#include <gtest/gtest.h>

namespace verbena::rpc {
namespace {

using Code = absl::StatusCode;

TEST(CallOutcome, BrokenServersAreAtFault) {
  for (const Code code :
       {Code::kUnavailable, Code::kDeadlineExceeded, Code::kInternal, Code::kUnknown, Code::kDataLoss}) {
    EXPECT_EQ(OutcomeOf(code), CallOutcome::kServerFault) << absl::StatusCodeToString(code);
  }
}

TEST(CallOutcome, ErrorsOfTheApplicationAreAnswers) {
  for (const Code code : {Code::kOk, Code::kNotFound, Code::kInvalidArgument, Code::kAlreadyExists,
                          Code::kPermissionDenied, Code::kFailedPrecondition, Code::kAborted, Code::kOutOfRange,
                          Code::kUnimplemented, Code::kUnauthenticated, Code::kResourceExhausted}) {
    EXPECT_EQ(OutcomeOf(code), CallOutcome::kAnswered) << absl::StatusCodeToString(code);
  }
}

TEST(CallOutcome, CancelSaysNothing) { EXPECT_EQ(OutcomeOf(Code::kCancelled), CallOutcome::kNoVerdict); }

}  // namespace
}  // namespace verbena::rpc
