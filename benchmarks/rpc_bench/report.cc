#include "benchmarks/rpc_bench/report.h"

#include "absl/strings/str_format.h"
#include "benchmarks/yardstick/median.h"

namespace verbena::benchmarks {
namespace {

template <typename Figures>
double MedianOf(const std::vector<Figures>& rounds, double Figures::*figure) {
  std::vector<double> values;
  for (const Figures& round : rounds) values.push_back(round.*figure);
  return Median(std::move(values));
}

double Ratio(double of, double to) { return to > 0 ? of / to : 0; }

}  // namespace

Report MakeReport(const Setting& setting, const std::vector<CallFigures>& calls, const std::vector<RawFigures>& raw) {
  Report report;
  report.setting = setting;
  for (const CallFigures& round : calls) report.calls.calls += round.calls;
  report.calls.p50_us = MedianOf(calls, &CallFigures::p50_us);
  report.calls.p99_us = MedianOf(calls, &CallFigures::p99_us);
  report.calls.calls_per_second = MedianOf(calls, &CallFigures::calls_per_second);
  report.calls.doorbells_per_call = MedianOf(calls, &CallFigures::doorbells_per_call);
  report.calls.allocations_per_call = MedianOf(calls, &CallFigures::allocations_per_call);
  report.raw.p50_us = MedianOf(raw, &RawFigures::p50_us);
  report.raw.read_gbytes_per_second = MedianOf(raw, &RawFigures::read_gbytes_per_second);
  report.gbytes_per_second = report.calls.calls_per_second * static_cast<double>(setting.payload_bytes) / 1e9;
  report.ratio_to_raw = setting.attachment ? Ratio(report.gbytes_per_second, report.raw.read_gbytes_per_second)
                                           : Ratio(report.calls.p50_us, report.raw.p50_us);
  return report;
}

std::string ToJson(const Report& report) {
  return absl::StrFormat(R"({"device":"%s","wait":"%s","payload_bytes":%d,"in_flight":%d,"connections":%d,"calls":%d,)"
                         R"("p50_us":%.3f,"p99_us":%.3f,"calls_per_second":%.0f,"gbytes_per_second":%.4f,)"
                         R"("raw_p50_us":%.3f,"raw_read_gbytes_per_second":%.4f,"ratio_to_raw":%.3f,)"
                         R"("doorbells_per_call":%.3f,"allocations_per_call":%.3f})",
                         report.setting.device, report.setting.wait, report.setting.payload_bytes,
                         report.setting.in_flight, report.setting.connections, report.calls.calls, report.calls.p50_us,
                         report.calls.p99_us, report.calls.calls_per_second, report.gbytes_per_second,
                         report.raw.p50_us, report.raw.read_gbytes_per_second, report.ratio_to_raw,
                         report.calls.doorbells_per_call, report.calls.allocations_per_call);
}

std::string ToText(const Report& report) {
  const Setting& setting = report.setting;
  return absl::StrFormat(
      "device %s, wait %s, %d bytes %s, %d in flight, %d connections\n"
      "calls      %d   p50 %.2f us   p99 %.2f us   %.0f calls/s   %.3f GB/s\n"
      "raw verbs  SEND there and back p50 %.2f us   READ stream %.3f GB/s\n"
      "ratio      %.2f of raw %s\n"
      "client     %.2f doorbells and %.2f allocations per call",
      setting.device, setting.wait, setting.payload_bytes, setting.attachment ? "attached" : "in the message",
      setting.in_flight, setting.connections, report.calls.calls, report.calls.p50_us, report.calls.p99_us,
      report.calls.calls_per_second, report.gbytes_per_second, report.raw.p50_us, report.raw.read_gbytes_per_second,
      report.ratio_to_raw, setting.attachment ? "READ bandwidth" : "p50", report.calls.doorbells_per_call,
      report.calls.allocations_per_call);
}

}  // namespace verbena::benchmarks
