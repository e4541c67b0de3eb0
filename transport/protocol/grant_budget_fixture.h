// What the tests of a GrantBudget begin with.

#ifndef VERBENA_TRANSPORT_PROTOCOL_GRANT_BUDGET_FIXTURE_H_
#define VERBENA_TRANSPORT_PROTOCOL_GRANT_BUDGET_FIXTURE_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "transport/protocol/grant_budget.h"

namespace verbena::protocol {

inline const absl::Time kStart = absl::UnixEpoch();

// A member, for whose minimum receives are added.
inline GrantShare Admitted(GrantBudget& budget, uint32_t owner, uint16_t initial = 2) {
  budget.OnReceivesAdded(kCreditsPerConnectionMin);
  absl::StatusOr<GrantShare> share = budget.Admit(owner, initial);
  EXPECT_TRUE(share.ok()) << share.status();
  return *std::move(share);
}

// So many messages arrive that its share is as large as the receives allow.
inline void MakeBusy(GrantShare& share) {
  for (int i = 0; i < 64; ++i) share.OnMessageArrived(kStart);
}

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_GRANT_BUDGET_FIXTURE_H_
