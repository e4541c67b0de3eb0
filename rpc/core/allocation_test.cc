// What a call costs in allocations on this floor, once tables have grown: none.

#include <gtest/gtest.h>

#include "rpc/core/call_header.h"
#include "rpc/core/call_table.h"
#include "rpc/core/deadline_queue.h"
#include "rpc/core/status_codec.h"
#include "rpc/core/test_bytes.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena::rpc {
namespace {

using testing::AllocationsOf;

TEST(Allocation, IsCounted) {
  EXPECT_GE(AllocationsOf([] { Bytes bytes(1000); }), 1u);
}

TEST(Allocation, HeadersTakeNone) {
  Bytes room(512);
  bool ok = false;
  EXPECT_EQ(AllocationsOf([&] {
              const RequestHeader request{"demo.Greeter/SayHello", 50, 10, {}};
              const absl::StatusOr<size_t> size = EncodeRequestHeader(request, absl::MakeSpan(room));
              ok = size.ok() && DecodeRequestHeader(absl::MakeConstSpan(room).first(*size), 10).ok();
            }),
            0u);
  EXPECT_TRUE(ok);
}

TEST(Allocation, OkStatusTakesNone) {
  Bytes room(512);
  bool ok = false;
  EXPECT_EQ(AllocationsOf([&] {
              const size_t size = EncodeStatus(absl::OkStatus(), 10, absl::MakeSpan(room));
              const auto header = DecodeResponseHeader(absl::MakeConstSpan(room).first(size), 10);
              ok = header.ok() && DecodeStatus(*header).ok();
            }),
            0u);
  EXPECT_TRUE(ok);
}

TEST(Allocation, CallsInTheSteadyStateTakeNone) {
  CallTable<int> calls(100);
  DeadlineQueue deadlines;
  const auto run_a_window = [&] {
    uint64_t ids[50];
    for (uint64_t& id : ids) {
      id = *calls.Emplace(1);
      deadlines.Set(id, absl::FromUnixSeconds(CallIndex(id)));
    }
    for (uint64_t id : ids) {
      deadlines.Remove(id);
      calls.Erase(id);
    }
  };
  run_a_window();
  EXPECT_EQ(AllocationsOf(run_a_window), 0u);
}

}  // namespace
}  // namespace verbena::rpc
