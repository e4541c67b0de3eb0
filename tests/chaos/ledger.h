// What each process notes of its calls, in a file of its own: clients what they began and what they were told, servers
// what they executed. A line is in the file as soon as it is written, whatever becomes of the process then.

#ifndef VERBENA_TESTS_CHAOS_LEDGER_H_
#define VERBENA_TESTS_CHAOS_LEDGER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace verbena::chaos {

// A call's token: which life of which client made it, and its number there.
constexpr uint64_t MakeToken(uint32_t client, uint32_t number) { return uint64_t{client} << 32 | number; }
constexpr uint32_t ClientOf(uint64_t token) { return static_cast<uint32_t>(token >> 32); }

// What a client learned.
enum class Outcome : uint8_t {
  kOk,
  kNotSent,     // The status says so,
  kUnknown,     // or this,
  kExecuted,    // or that it is the handler's own.
  kWrongBytes,  // OK, but with other bytes than the server was to send.
};
const char* ToString(Outcome outcome);

struct BegunCall {
  uint64_t token = 0;
  absl::Time begun;
  absl::Time deadline;
  bool cancelled = false;   // Its client may cancel it.
  std::string description;  // For people; one line.
};

struct EndedCall {
  uint64_t token = 0;
  absl::Time ended;
  Outcome outcome = Outcome::kOk;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;  // For people; one line.
};

struct ClientLedger {
  std::string name;
  bool killed = false;  // Calls of it may have no end. Not in the file.
  std::vector<BegunCall> begun;
  std::vector<EndedCall> ended;
};

struct ServerLedger {
  std::string name;
  std::vector<uint64_t> executed;  // A token for each handler that began.
};

// Thread: any.
class LedgerWriter {
 public:
  explicit LedgerWriter(const std::string& path);
  ~LedgerWriter();
  LedgerWriter(const LedgerWriter&) = delete;
  LedgerWriter& operator=(const LedgerWriter&) = delete;

  // What cannot be noted ends the process: it would count as lost calls.
  void Begun(const BegunCall& call);
  void Ended(const EndedCall& call);
  void Executed(uint64_t token);

 private:
  void Write(std::string line);

  const int file_;
};

// The name is that of the file; `from_byte` is where a line begins. DataLoss: a whole line that is none of these. One
// that its writer's death cut is left out.
absl::StatusOr<ClientLedger> ReadClientLedger(const std::string& path);
absl::StatusOr<ServerLedger> ReadServerLedger(const std::string& path, uint64_t from_byte = 0);

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_LEDGER_H_
