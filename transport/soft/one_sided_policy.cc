#include "transport/soft/one_sided_policy.h"

#include <atomic>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace verbena::soft {
namespace {

constexpr char kVariable[] = "VERBENA_SOFT_ONE_SIDED";
constexpr int kNoOverride = -1;

std::atomic<int> override_policy{kNoOverride};
std::atomic<std::chrono::nanoseconds> patience_when_asking{std::chrono::hours(1)};

}  // namespace

absl::StatusOr<OneSidedPolicy> TheOneSidedPolicy() {
  if (int policy = override_policy.load(); policy != kNoOverride) return static_cast<OneSidedPolicy>(policy);
  const char* value = std::getenv(kVariable);
  absl::string_view name = value == nullptr ? "" : value;
  if (name.empty() || name == "auto") return OneSidedPolicy::kAuto;
  if (name == "direct") return OneSidedPolicy::kDirect;
  if (name == "responder") return OneSidedPolicy::kResponder;
  return absl::InvalidArgumentError(absl::StrCat(kVariable, " is \"", name, "\", not auto, direct or responder"));
}

absl::Status NoDirectAccess(absl::string_view why) {
  return absl::PermissionDeniedError(
      absl::StrCat(kVariable, "=direct asks for direct access to the peer's memory: ", why));
}

void OverrideOneSidedPolicy(std::optional<OneSidedPolicy> policy) {
  override_policy.store(policy.has_value() ? static_cast<int>(*policy) : kNoOverride);
}

void OverridePatienceWhenAsking(std::chrono::nanoseconds patience) { patience_when_asking.store(patience); }

std::chrono::nanoseconds PatienceWhenAsking() { return patience_when_asking.load(); }

}  // namespace verbena::soft
