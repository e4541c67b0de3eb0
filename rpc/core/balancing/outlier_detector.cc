#include "rpc/core/balancing/outlier_detector.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::rpc {

absl::Status CheckOptions(const OutlierOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"interval", options.interval}, std::pair{"base_ejection_time", options.base_ejection_time},
        std::pair{"ejection_time_max", options.ejection_time_max}}) {
    if (value <= absl::ZeroDuration()) {
      return absl::InvalidArgumentError(
          absl::StrCat("OutlierOptions: ", name, " is ", absl::FormatDuration(value), "; it must be more than zero"));
    }
  }
  if (options.max_ejection_percent > 100) {
    return absl::InvalidArgumentError(absl::StrCat("OutlierOptions: max_ejection_percent is ",
                                                   options.max_ejection_percent, "; allowed are 0 to 100"));
  }
  if (!(options.stdev_factor >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("OutlierOptions: stdev_factor is ", options.stdev_factor, "; it must be 0 or more"));
  }
  return absl::OkStatus();
}

void OutlierDetector::SetServers(const std::vector<ListedServer>& servers) {
  absl::flat_hash_map<ServerId, Record> kept;
  ejected_ = 0;
  for (const ListedServer& server : servers) {
    const Record& record = kept[server.id] = records_[server.id];
    ejected_ += record.ejected;
  }
  records_ = std::move(kept);
}

size_t OutlierDetector::EjectedMax() const {
  if (options_.max_ejection_percent == 0 || records_.size() < 2) return 0;
  const size_t share = records_.size() * options_.max_ejection_percent / 100;
  return std::clamp(share, size_t{1}, records_.size() - 1);
}

bool OutlierDetector::OnCallEnded(ServerId id, CallOutcome outcome, absl::Time now) {
  const auto found = records_.find(id);
  if (found == records_.end() || found->second.ejected || outcome == CallOutcome::kNoVerdict) return false;
  if (interval_end_ == absl::InfiniteFuture()) interval_end_ = now + options_.interval;
  Record& record = found->second;
  if (outcome == CallOutcome::kAnswered) {
    ++record.answered;
    record.faults_in_a_row = 0;
    return false;
  }
  ++record.faults;
  ++record.faults_in_a_row;
  const bool too_many = options_.consecutive_failures > 0 && record.faults_in_a_row >= options_.consecutive_failures;
  return too_many && Eject(record, now);
}

bool OutlierDetector::Eject(Record& record, absl::Time now) {
  if (ejected_ >= EjectedMax()) return false;
  ++ejected_;
  ++record.multiplier;
  const absl::Duration longest = std::max(options_.base_ejection_time, options_.ejection_time_max);
  record.ejected = true;
  record.ejected_until = now + std::min(options_.base_ejection_time * record.multiplier, longest);
  record.faults_in_a_row = record.answered = record.faults = 0;
  return true;
}

bool OutlierDetector::OnDeadline(absl::Time now) {
  bool changed = LetIn(now);
  if (now >= interval_end_) {
    changed |= EjectBySuccessRate(now);
    StartInterval(now);
  }
  return changed;
}

bool OutlierDetector::LetIn(absl::Time now) {
  bool changed = false;
  for (auto& [id, record] : records_) {
    if (!record.ejected || record.ejected_until > now) continue;
    record.ejected = false;
    --ejected_;
    changed = true;
  }
  return changed;
}

bool OutlierDetector::EjectBySuccessRate(absl::Time now) {
  std::vector<Record*> judged;
  double sum = 0;
  for (auto& [id, record] : records_) {
    if (record.ejected || record.answered + record.faults < std::max(options_.calls_min, uint32_t{1})) continue;
    judged.push_back(&record);
    sum += record.SuccessRate();
  }
  if (options_.stdev_factor == 0 || judged.empty() || judged.size() < options_.servers_min) return false;
  const double mean = sum / judged.size();
  double squares = 0;
  for (const Record* record : judged) squares += std::pow(record->SuccessRate() - mean, 2);
  const double threshold = mean - options_.stdev_factor * std::sqrt(squares / judged.size());
  // The worst first: there may not be room for all.
  std::sort(judged.begin(), judged.end(),
            [](const Record* a, const Record* b) { return a->SuccessRate() < b->SuccessRate(); });
  bool changed = false;
  for (Record* record : judged) {
    if (record->SuccessRate() >= threshold) break;
    changed |= Eject(*record, now);
  }
  return changed;
}

void OutlierDetector::StartInterval(absl::Time now) {
  bool anything = false;
  for (auto& [id, record] : records_) {
    anything |= record.answered + record.faults > 0 || record.multiplier > 0;
    record.answered = record.faults = 0;
    if (!record.ejected && record.multiplier > 0) --record.multiplier;
  }
  interval_end_ = anything ? now + options_.interval : absl::InfiniteFuture();
}

absl::Time OutlierDetector::NextDeadline() const {
  absl::Time next = interval_end_;
  if (ejected_ == 0) return next;
  for (const auto& [id, record] : records_) {
    if (record.ejected) next = std::min(next, record.ejected_until);
  }
  return next;
}

bool OutlierDetector::IsEjected(ServerId id) const {
  const auto found = records_.find(id);
  return found != records_.end() && found->second.ejected;
}

}  // namespace verbena::rpc
