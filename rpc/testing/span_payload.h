// A payload that has arrived in memory of the test's. Nobody is to share it.

#ifndef VERBENA_RPC_TESTING_SPAN_PAYLOAD_H_
#define VERBENA_RPC_TESTING_SPAN_PAYLOAD_H_

#include <cstddef>

#include "absl/strings/cord.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "transport/connection.h"

namespace verbena::testing {

class SpanPayload : public transport::ReceivedPayload {
 public:
  explicit SpanPayload(absl::Span<const std::byte> bytes) : bytes_(bytes) {}
  absl::Span<const std::byte> bytes() const override { return bytes_; }
  absl::Cord Share(size_t) override {
    ADD_FAILURE() << "a payload was to be kept";
    return absl::Cord();
  }

 private:
  const absl::Span<const std::byte> bytes_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_SPAN_PAYLOAD_H_
