#include "tests/chaos/verdict.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"

namespace verbena::chaos {
namespace {

struct Execution {
  size_t times = 0;
  std::string servers;  // Names.
};
using Executions = std::unordered_map<uint64_t, Execution>;

Executions CountExecutions(const std::vector<ServerLedger>& servers) {
  Executions executions;
  for (const ServerLedger& server : servers) {
    for (const uint64_t token : server.executed) {
      Execution& execution = executions[token];
      ++execution.times;
      absl::StrAppend(&execution.servers, " ", server.name);
    }
  }
  return executions;
}

class ClientJudge {
 public:
  ClientJudge(const ClientLedger& client, const Executions& executions, const Rules& rules, Tally* tally,
              std::vector<std::string>* broken)
      : client_(client), executions_(executions), rules_(rules), tally_(*tally), broken_(*broken) {}

  void Run() {
    std::unordered_map<uint64_t, std::vector<const EndedCall*>> ends;
    for (const EndedCall& ended : client_.ended) ends[ended.token].push_back(&ended);
    for (const BegunCall& begun : client_.begun) {
      ++tally_.begun;
      const auto found = ends.find(begun.token);
      const size_t times = found == ends.end() ? 0 : found->second.size();
      if (times == 0) {
        JudgeEndless(begun);
      } else if (times > 1) {
        Say(begun, absl::StrCat("completed ", times, " times"));
      } else {
        JudgeEnd(begun, *found->second.front());
      }
      if (found != ends.end()) ends.erase(found);
    }
    for (const auto& [token, unknown] : ends) {
      broken_.push_back(absl::StrCat(client_.name, ", call ", token, ": completed, and never begun"));
    }
  }

 private:
  void JudgeEndless(const BegunCall& begun) {
    ++tally_.endless;
    if (!client_.killed) Say(begun, "never completed");
    if (TimesExecuted(begun) > 1) SayExecutions(begun, "of which nobody knows");
  }

  void JudgeEnd(const BegunCall& begun, const EndedCall& ended) {
    const absl::Duration lateness = ended.ended - begun.deadline;
    tally_.lateness_max = std::max(tally_.lateness_max, lateness);
    if (lateness > rules_.lateness_max) {
      Say(begun, absl::StrCat("completed ", absl::FormatDuration(lateness), " past its deadline"));
    }
    JudgeOutcome(begun, ended);
    JudgeCalm(begun, ended);
  }

  void JudgeOutcome(const BegunCall& begun, const EndedCall& ended) {
    const size_t times = TimesExecuted(begun);
    const std::string told = absl::StrCat("told ", ToString(ended.outcome), " (", ended.message, ")");
    switch (ended.outcome) {
      case Outcome::kOk:
        ++tally_.ok;
        if (times != 1) SayExecutions(begun, told);
        return;
      case Outcome::kNotSent:
        ++tally_.not_sent;
        if (times != 0) SayExecutions(begun, told);
        return;
      case Outcome::kUnknown:
        ++tally_.unknown;
        if (times > 1) SayExecutions(begun, told);
        return;
      case Outcome::kExecuted:
        ++tally_.executed;
        if (times != 1) SayExecutions(begun, told);
        if (ended.code == absl::StatusCode::kDataLoss) Say(begun, told);
        return;
      case Outcome::kWrongBytes:
        Say(begun, told);
        return;
    }
  }

  void JudgeCalm(const BegunCall& begun, const EndedCall& ended) {
    const bool calm = std::any_of(rules_.calm.begin(), rules_.calm.end(), [&](const CalmTime& time) {
      return begun.begun >= time.from && ended.ended <= time.to;
    });
    if (!calm) return;
    ++tally_.in_calm;
    const bool its_cancel = begun.cancelled && ended.code == absl::StatusCode::kCancelled;
    // Past it the status of the last attempt will do.
    const bool its_deadline = ended.ended >= begun.deadline || (ended.code == absl::StatusCode::kDeadlineExceeded &&
                                                                ended.ended >= begun.deadline - rules_.earliness_max);
    if (ended.code != absl::StatusCode::kOk && !its_cancel && !its_deadline) {
      Say(begun, absl::StrCat("failed while servers did no more than drain: ", ended.message));
    }
  }

  const Execution* Find(const BegunCall& begun) const {
    const auto found = executions_.find(begun.token);
    return found == executions_.end() ? nullptr : &found->second;
  }
  size_t TimesExecuted(const BegunCall& begun) const {
    const Execution* const execution = Find(begun);
    return execution == nullptr ? 0 : execution->times;
  }
  void SayExecutions(const BegunCall& begun, const std::string& told) {
    const Execution* const execution = Find(begun);
    Say(begun, absl::StrCat(told, " and executed ", TimesExecuted(begun), " times, by",
                            execution == nullptr ? " nobody" : execution->servers));
  }
  void Say(const BegunCall& begun, const std::string& what) {
    broken_.push_back(absl::StrCat(client_.name, ", call ", begun.token, " (", begun.description, ", begun ",
                                   absl::FormatTime("%H:%M:%E3S", begun.begun, absl::UTCTimeZone()), "): ", what));
  }

  const ClientLedger& client_;
  const Executions& executions_;
  const Rules& rules_;
  Tally& tally_;
  std::vector<std::string>& broken_;
};

}  // namespace

std::vector<std::string> Judge(const std::vector<ClientLedger>& clients, const std::vector<ServerLedger>& servers,
                               const Rules& rules, Tally* tally) {
  std::vector<std::string> broken;
  Executions executions = CountExecutions(servers);
  for (const ClientLedger& client : clients) {
    ClientJudge(client, executions, rules, tally, &broken).Run();
    for (const BegunCall& begun : client.begun) executions.erase(begun.token);
  }
  for (const auto& [token, execution] : executions) {
    broken.push_back(absl::StrCat("call ", token, ": executed by", execution.servers, ", and begun by nobody"));
  }
  return broken;
}

}  // namespace verbena::chaos
