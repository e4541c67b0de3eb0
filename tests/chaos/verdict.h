// What the ledgers of all processes say together. Pure.

#ifndef VERBENA_TESTS_CHAOS_VERDICT_H_
#define VERBENA_TESTS_CHAOS_VERDICT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/chaos/ledger.h"

namespace verbena::chaos {

// While nothing happened but graceful drains, with servers to go to.
struct CalmTime {
  absl::Time from;
  absl::Time to;
};

struct Rules {
  absl::Duration lateness_max;   // Of a call's end past its deadline.
  absl::Duration earliness_max;  // Of an end by the deadline, which is counted from the clock of a turn of the loop.
  // A call that lies within one fails only of its own deadline or cancel.
  std::vector<CalmTime> calm;
};

// Counted over all clients, for people.
struct Tally {
  size_t begun = 0, ok = 0, not_sent = 0, unknown = 0, executed = 0, endless = 0, in_calm = 0;
  absl::Duration lateness_max = -absl::InfiniteDuration();
};

// Every line says what was broken, by which call and of which process; none: every call of a client that lived
// completed exactly once, in time and with its bytes; OK was executed once, "not sent" never, all else at most once.
std::vector<std::string> Judge(const std::vector<ClientLedger>& clients, const std::vector<ServerLedger>& servers,
                               const Rules& rules, Tally* tally);

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_VERDICT_H_
