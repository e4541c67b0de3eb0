#include "tests/chaos/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace verbena::chaos {
namespace {

constexpr char kBegun = 'B', kEnded = 'E', kExecuted = 'X';

std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", " "}}); }

// The fields of a line, of which the last may hold blanks.
using Fields = std::vector<std::string>;

bool Parse(const Fields& fields, BegunCall* call) {
  int64_t begun, deadline;
  if (fields.size() != 7 || !absl::SimpleAtoi(fields[1], &call->token) || !absl::SimpleAtoi(fields[2], &begun) ||
      !absl::SimpleAtoi(fields[3], &deadline)) {
    return false;
  }
  call->begun = absl::FromUnixNanos(begun);
  call->deadline = absl::FromUnixNanos(deadline);
  call->cancelled = fields[4] == "1";
  call->description = fields[6];
  return true;
}

bool Parse(const Fields& fields, EndedCall* call) {
  int64_t ended;
  int outcome, code;
  if (fields.size() != 7 || !absl::SimpleAtoi(fields[1], &call->token) || !absl::SimpleAtoi(fields[2], &ended) ||
      !absl::SimpleAtoi(fields[3], &outcome) || !absl::SimpleAtoi(fields[4], &code)) {
    return false;
  }
  call->ended = absl::FromUnixNanos(ended);
  call->outcome = static_cast<Outcome>(outcome);
  call->code = static_cast<absl::StatusCode>(code);
  call->message = fields[6];
  return true;
}

// Calls `take` with the fields of each whole line.
template <typename Take>
absl::Status ForEachLine(const std::string& path, uint64_t from_byte, Take take) {
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(from_byte));
  if (!file) return absl::NotFoundError(absl::StrCat("no ledger ", path));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  lines.pop_back();  // What follows the last newline: nothing, or a line that was cut.
  for (const absl::string_view line : lines) {
    if (!take(Fields(absl::StrSplit(line, absl::MaxSplits(' ', 6))))) {
      return absl::DataLossError(absl::StrCat(path, " has the line: ", line));
    }
  }
  return absl::OkStatus();
}

template <typename Call>
bool Append(const Fields& fields, std::vector<Call>* calls) {
  return Parse(fields, &calls->emplace_back());
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

const char* ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "OK";
    case Outcome::kNotSent:
      return "not sent";
    case Outcome::kUnknown:
      return "outcome unknown";
    case Outcome::kExecuted:
      return "executed";
    case Outcome::kWrongBytes:
      return "wrong bytes";
  }
  return "no outcome";
}

LedgerWriter::LedgerWriter(const std::string& path) : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644)) {}

LedgerWriter::~LedgerWriter() { close(file_); }

void LedgerWriter::Begun(const BegunCall& call) {
  Write(absl::StrCat(std::string(1, kBegun), " ", call.token, " ", absl::ToUnixNanos(call.begun), " ",
                     absl::ToUnixNanos(call.deadline), " ", call.cancelled ? 1 : 0,
                     " made: ", OneLine(call.description)));
}

void LedgerWriter::Ended(const EndedCall& call) {
  Write(absl::StrCat(std::string(1, kEnded), " ", call.token, " ", absl::ToUnixNanos(call.ended), " ",
                     static_cast<int>(call.outcome), " ", static_cast<int>(call.code),
                     " told: ", OneLine(call.message)));
}

void LedgerWriter::Executed(uint64_t token) { Write(absl::StrCat(std::string(1, kExecuted), " ", token)); }

void LedgerWriter::Write(std::string line) {
  line += '\n';
  if (write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  std::perror("ledger");
  std::_Exit(3);
}

absl::StatusOr<ClientLedger> ReadClientLedger(const std::string& path) {
  ClientLedger ledger;
  ledger.name = NameOf(path);
  const absl::Status read = ForEachLine(path, 0, [&ledger](const Fields& fields) {
    if (fields[0] == std::string(1, kBegun)) return Append(fields, &ledger.begun);
    return fields[0] == std::string(1, kEnded) && Append(fields, &ledger.ended);
  });
  if (!read.ok()) return read;
  return ledger;
}

absl::StatusOr<ServerLedger> ReadServerLedger(const std::string& path, uint64_t from_byte) {
  ServerLedger ledger;
  ledger.name = NameOf(path);
  const absl::Status read = ForEachLine(path, from_byte, [&ledger](const Fields& fields) {
    return fields.size() == 2 && fields[0] == std::string(1, kExecuted) &&
           absl::SimpleAtoi(fields[1], &ledger.executed.emplace_back());
  });
  if (!read.ok()) return read;
  return ledger;
}

}  // namespace verbena::chaos
