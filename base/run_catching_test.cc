#include "base/run_catching.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "absl/status/statusor.h"

namespace verbena {
namespace {

TEST(RunCatching, GivesWhatTheWorkReturns) {
  EXPECT_EQ(RunCatching("the handler", [] { return absl::NotFoundError("no such thing"); }),
            absl::NotFoundError("no such thing"));
  EXPECT_EQ(*RunCatching("the handler", [] { return absl::StatusOr<int>(7); }), 7);
}

TEST(RunCatching, ExceptionIsInternalAndSaysWhoThrewWhat) {
  EXPECT_EQ(RunCatching("the handler", []() -> absl::Status { throw std::runtime_error("lost"); }),
            absl::InternalError("the handler threw: lost"));
}

TEST(RunCatching, WhatIsNoExceptionIsNamedAsSuch) {
  EXPECT_EQ(RunCatching("the handler", []() -> absl::StatusOr<int> { throw 7; }).status(),
            absl::InternalError("the handler threw something that is no std::exception"));
}

}  // namespace
}  // namespace verbena
