#include "benchmarks/rpc_bench/report.h"

#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

Setting SettingOf(uint64_t bytes, bool attachment) {
  return {.device = "soft0",
          .wait = "busy",
          .load = "closed loop",
          .payload_bytes = bytes,
          .attachment = attachment,
          .in_flight = 8,
          .connections = 2};
}

TEST(MakeReport, CallsAreSummedAndTheRestIsMedian) {
  const Report report = MakeReport(SettingOf(64, false),
                                   {{.calls = 10, .p50_us = 3, .p99_us = 9, .calls_per_second = 100},
                                    {.calls = 20, .p50_us = 5, .p99_us = 7, .calls_per_second = 300},
                                    {.calls = 30, .p50_us = 4, .p99_us = 8, .calls_per_second = 200}},
                                   {{.p50_us = 2}, {.p50_us = 1}, {.p50_us = 50}});
  EXPECT_EQ(report.calls.calls, 60u);
  EXPECT_EQ(report.calls.p50_us, 4);
  EXPECT_EQ(report.calls.p99_us, 8);
  EXPECT_EQ(report.calls.calls_per_second, 200);
  EXPECT_EQ(report.raw.p50_us, 2);
  EXPECT_EQ(report.ratio_to_raw, 2);
}

TEST(MakeReport, RatioOfAttachmentsIsThatOfBandwidths) {
  const Report report = MakeReport(SettingOf(1000000, true), {{.p50_us = 1, .calls_per_second = 4000}},
                                   {{.p50_us = 1, .read_gbytes_per_second = 8}});
  EXPECT_DOUBLE_EQ(report.gbytes_per_second, 4);
  EXPECT_DOUBLE_EQ(report.ratio_to_raw, 0.5);
}

TEST(MakeReport, NothingMeasuredIsNoDivisionByZero) {
  EXPECT_EQ(MakeReport(SettingOf(64, false), {}, {}).ratio_to_raw, 0);
}

TEST(MakeReport, LateCallsAreSummed) {
  const Report report =
      MakeReport(SettingOf(64, false), {{.late_calls = 3, .unstarted_calls = 1}, {.late_calls = 4}}, {});
  EXPECT_EQ(report.calls.late_calls, 7u);
  EXPECT_EQ(report.calls.unstarted_calls, 1u);
}

TEST(MakeReport, ProcessorTimeOfBothEndsIsGivenForEachGib) {
  const Report report =
      MakeReport(SettingOf(1 << 20, true), {{.client_cpu_us_per_call = 100, .server_cpu_us_per_call = 300}}, {});
  EXPECT_DOUBLE_EQ(report.cpu_seconds_per_gib, 1024 * 400e-6);
}

TEST(ToJson, HasExactlyTheDocumentedKeys) {
  Setting setting = SettingOf(64, false);
  setting.rate = 1000;
  EXPECT_EQ(ToJson(MakeReport(setting,
                              {{.calls = 10,
                                .p50_us = 3,
                                .p90_us = 4,
                                .p99_us = 9,
                                .p999_us = 10,
                                .p9999_us = 11,
                                .max_us = 12,
                                .calls_per_second = 1e6,
                                .doorbells_per_call = 0.25,
                                .allocations_per_call = 2,
                                .client_cpu_us_per_call = 1.5,
                                .server_cpu_us_per_call = 2.5,
                                .late_calls = 7,
                                .unstarted_calls = 6,
                                .reference_p50_us = 1,
                                .reference_p99_us = 2,
                                .beside_gbytes_per_second = 4}},
                              {{.p50_us = 1.5, .read_gbytes_per_second = 0.5}})),
            "{\"device\":\"soft0\",\"wait\":\"busy\",\"load\":\"closed "
            "loop\",\"payload_bytes\":64,\"in_flight\":8,\"connections\":2,"
            "\"rate\":1000,\"calls\":10,\"late_calls\":7,\"unstarted_calls\":6,\"p50_us\":3.000,\"p90_us\":4.000,"
            "\"p99_us\":9.000,\"p999_us\":10.000,\"p9999_us\":11.000,\"max_us\":12.000,"
            "\"calls_per_second\":1000000,"
            "\"gbytes_per_second\":0.0640,\"raw_p50_us\":1.500,\"raw_read_gbytes_per_second\":0.5000,"
            "\"ratio_to_raw\":2.000,\"doorbells_per_call\":0.250,\"allocations_per_call\":2.000,"
            "\"client_cpu_us_per_call\":1.500,\"server_cpu_us_per_call\":2.500,\"cpu_seconds_per_gib\":67.109,"
            "\"reference_p50_us\":1.000,\"reference_p99_us\":2.000,\"beside_gbytes_per_second\":4.0000}");
}

}  // namespace
}  // namespace verbena::benchmarks
