// Runs four servers and eight clients, and disturbs them: in turns a storm, in which servers are killed, stopped and
// drained and clients killed at times and in an order that follow from the seed, and a calm time, in which each server
// is drained and started again, one after the other. When the time is over the clients settle, and the ledgers are
// judged (verdict.h).
//
// What is broken besides: a process that ends by itself or with an error, a drain without end, a server that uses more
// than kServerBytesMax, a client that does not come back to each server, or that does not settle.

#ifndef VERBENA_TESTS_CHAOS_CONDUCTOR_H_
#define VERBENA_TESTS_CHAOS_CONDUCTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace verbena::chaos {

inline constexpr uint64_t kServerBytesMax = uint64_t{1} << 30;  // Present; with what a sanitizer adds.

// What was broken, the seed in the first line; empty: nothing. Ledgers go to `folder`, which is there. Says on standard
// error what it does, and what came of it.
std::vector<std::string> RunChaos(uint64_t seed, absl::Duration time, const std::string& folder);

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_CONDUCTOR_H_
