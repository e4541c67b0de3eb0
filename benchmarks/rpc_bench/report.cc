#include "benchmarks/rpc_bench/report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/yardstick/median.h"

namespace verbena::benchmarks {
namespace {

constexpr double kGib = 1 << 30;

template <typename Figures>
double MedianOf(const std::vector<Figures>& rounds, double Figures::*figure) {
  std::vector<double> values;
  for (const Figures& round : rounds) values.push_back(round.*figure);
  return Median(std::move(values));
}

double Ratio(double of, double to) { return to > 0 ? of / to : 0; }

// Sums of what is counted in whole calls, medians of the rest.
CallFigures Summarize(const std::vector<CallFigures>& rounds) {
  CallFigures summary;
  for (double CallFigures::*figure :
       {&CallFigures::p50_us, &CallFigures::p90_us, &CallFigures::p99_us, &CallFigures::p999_us, &CallFigures::p9999_us,
        &CallFigures::max_us, &CallFigures::calls_per_second, &CallFigures::doorbells_per_call,
        &CallFigures::allocations_per_call, &CallFigures::client_cpu_us_per_call, &CallFigures::server_cpu_us_per_call,
        &CallFigures::reference_p50_us, &CallFigures::reference_p99_us, &CallFigures::beside_gbytes_per_second}) {
    summary.*figure = MedianOf(rounds, figure);
  }
  for (const CallFigures& round : rounds) {
    summary.calls += round.calls;
    summary.late_calls += round.late_calls;
    summary.unstarted_calls += round.unstarted_calls;
  }
  return summary;
}

}  // namespace

Report MakeReport(const Setting& setting, const std::vector<CallFigures>& calls, const std::vector<RawFigures>& raw) {
  Report report;
  report.setting = setting;
  report.calls = Summarize(calls);
  report.raw.p50_us = MedianOf(raw, &RawFigures::p50_us);
  report.raw.read_gbytes_per_second = MedianOf(raw, &RawFigures::read_gbytes_per_second);
  report.gbytes_per_second = report.calls.calls_per_second * static_cast<double>(setting.payload_bytes) / 1e9;
  const double cpu_us_per_call = report.calls.client_cpu_us_per_call + report.calls.server_cpu_us_per_call;
  report.cpu_seconds_per_gib = Ratio(cpu_us_per_call / 1e6, static_cast<double>(setting.payload_bytes) / kGib);
  report.ratio_to_raw = setting.attachment ? Ratio(report.gbytes_per_second, report.raw.read_gbytes_per_second)
                                           : Ratio(report.calls.p50_us, report.raw.p50_us);
  return report;
}

std::string ToJson(const Report& report) {
  const Setting& setting = report.setting;
  const CallFigures& calls = report.calls;
  return absl::StrCat(
      absl::StrFormat(
          R"({"device":"%s","wait":"%s","load":"%s","payload_bytes":%d,"in_flight":%d,"connections":%d,"rate":%.0f,)",
          setting.device, setting.wait, setting.load, setting.payload_bytes, setting.in_flight, setting.connections,
          setting.rate),
      absl::StrFormat(R"("calls":%d,"late_calls":%d,"unstarted_calls":%d,"p50_us":%.3f,"p90_us":%.3f,"p99_us":%.3f,)"
                      R"("p999_us":%.3f,"p9999_us":%.3f,"max_us":%.3f,"calls_per_second":%.0f,)",
                      calls.calls, calls.late_calls, calls.unstarted_calls, calls.p50_us, calls.p90_us, calls.p99_us,
                      calls.p999_us, calls.p9999_us, calls.max_us, calls.calls_per_second),
      absl::StrFormat(R"("gbytes_per_second":%.4f,"raw_p50_us":%.3f,"raw_read_gbytes_per_second":%.4f,)"
                      R"("ratio_to_raw":%.3f,)",
                      report.gbytes_per_second, report.raw.p50_us, report.raw.read_gbytes_per_second,
                      report.ratio_to_raw),
      absl::StrFormat(R"("doorbells_per_call":%.3f,"allocations_per_call":%.3f,"client_cpu_us_per_call":%.3f,)"
                      R"("server_cpu_us_per_call":%.3f,"cpu_seconds_per_gib":%.3f,)",
                      calls.doorbells_per_call, calls.allocations_per_call, calls.client_cpu_us_per_call,
                      calls.server_cpu_us_per_call, report.cpu_seconds_per_gib),
      absl::StrFormat(R"("reference_p50_us":%.3f,"reference_p99_us":%.3f,"beside_gbytes_per_second":%.4f})",
                      calls.reference_p50_us, calls.reference_p99_us, calls.beside_gbytes_per_second));
}

std::string ToText(const Report& report) {
  const Setting& setting = report.setting;
  const CallFigures& calls = report.calls;
  std::string text = absl::StrFormat(
      "device %s, wait %s, %s, %d bytes %s, %d in flight, %d connections\n"
      "calls      %d   %.0f calls/s   %.3f GB/s\n"
      "raw verbs  SEND there and back p50 %.2f us   READ stream %.3f GB/s\n"
      "client     %.2f doorbells and %.2f allocations per call\n"
      "processor  %.2f us per call at the client, %.2f us at the server, %.2f s per GiB at both",
      setting.device, setting.wait, setting.load, setting.payload_bytes,
      setting.attachment ? "attached" : "in the message", setting.in_flight, setting.connections, calls.calls,
      calls.calls_per_second, report.gbytes_per_second, report.raw.p50_us, report.raw.read_gbytes_per_second,
      calls.doorbells_per_call, calls.allocations_per_call, calls.client_cpu_us_per_call, calls.server_cpu_us_per_call,
      report.cpu_seconds_per_gib);
  if (calls.max_us > 0) {
    absl::StrAppendFormat(
        &text, "\nlatency    p50 %.2f us   p90 %.2f us   p99 %.2f us   p99.9 %.2f us   p99.99 %.2f us   max %.2f us",
        calls.p50_us, calls.p90_us, calls.p99_us, calls.p999_us, calls.p9999_us, calls.max_us);
  }
  if (report.ratio_to_raw > 0) {
    absl::StrAppendFormat(&text, "\nratio      %.2f of raw %s", report.ratio_to_raw,
                          setting.attachment ? "READ bandwidth" : "p50");
  }
  if (setting.rate > 0) {
    absl::StrAppendFormat(&text, "\nopen loop  %.0f calls/s asked for, %d calls started late, %d never", setting.rate,
                          calls.late_calls, calls.unstarted_calls);
  }
  if (calls.reference_p50_us > 0) {
    absl::StrAppendFormat(&text, "\nreference  p50 %.2f us   p99 %.2f us", calls.reference_p50_us,
                          calls.reference_p99_us);
  }
  if (calls.beside_gbytes_per_second > 0) {
    absl::StrAppendFormat(&text, "\nbeside it  %.3f GB/s", calls.beside_gbytes_per_second);
  }
  return text;
}

}  // namespace verbena::benchmarks
