#include "tests/simulation/ledger.h"

#include "absl/strings/str_cat.h"

namespace verbena::simulation {

using protocol::SendOutcome;

uint64_t Ledger::OnSend(uint32_t from, uint64_t payload_bytes) {
  Message message;
  message.from = from;
  message.payload_bytes = payload_bytes;
  messages_.push_back(message);
  ++unresolved_;
  return messages_.size();
}

void Ledger::OnSent(uint64_t call_id, SendOutcome outcome) {
  Message& message = at(call_id);
  if (message.outcome) world_.Violation(absl::StrCat("message ", call_id, " is reported sent twice"));
  message.outcome = outcome;
  --unresolved_;
}

// Ends are numbered so that the two of one connection differ in the last bit.
bool Ledger::Known(uint32_t to, uint64_t call_id, uint64_t payload_bytes) {
  if (call_id == 0 || call_id > messages_.size() || at(call_id).from != (to ^ 1)) {
    world_.Violation(absl::StrCat("end ", to, " got message ", call_id, ", which was not sent to it"));
    return false;
  }
  if (at(call_id).payload_bytes == payload_bytes) return true;
  world_.Violation(
      absl::StrCat("message ", call_id, " has ", payload_bytes, " bytes, not ", at(call_id).payload_bytes));
  return false;
}

void Ledger::OnEager(uint32_t to, uint64_t call_id, uint64_t payload_bytes) {
  if (!Known(to, call_id, payload_bytes)) return;
  ++at(call_id).seen;
  if (++at(call_id).delivered > 1) world_.Violation(absl::StrCat("message ", call_id, " is delivered twice"));
  if (eager_newest_.size() <= to) eager_newest_.resize(to + 1);
  if (call_id <= eager_newest_[to]) world_.Violation(absl::StrCat("eager message ", call_id, " is out of order"));
  eager_newest_[to] = call_id;
}

void Ledger::OnAnnounced(uint32_t to, uint64_t call_id, uint64_t payload_bytes) {
  if (!Known(to, call_id, payload_bytes)) return;
  if (++at(call_id).seen > 1) world_.Violation(absl::StrCat("message ", call_id, " is announced twice"));
}

void Ledger::OnFetched(uint32_t to, uint64_t call_id) {
  Message& message = at(call_id);
  if (++message.delivered > 1) world_.Violation(absl::StrCat("message ", call_id, " is delivered twice"));
  if (++message.fetches_ended > message.accepted) {
    world_.Violation(absl::StrCat("message ", call_id, " is fetched at end ", to, " without a verdict, or twice"));
  }
}

void Ledger::OnFetchFailed(uint64_t call_id) {
  Message& message = at(call_id);
  if (++message.fetches_ended > message.accepted) {
    world_.Violation(absl::StrCat("the fetch of message ", call_id, " ends twice, or without a verdict"));
  }
}

void Ledger::CheckAtEnd(uint64_t call_id, bool clean) {
  const Message& message = at(call_id);
  const auto violation = [&](absl::string_view what) {
    world_.Violation(absl::StrCat("message ", call_id, " of end ", message.from, " ", what));
  };
  if (!message.outcome) return violation("was never reported sent");
  if (message.accepted != message.fetches_ended) return violation("has a fetch without an end");
  switch (*message.outcome) {
    case SendOutcome::kDelivered:
      if (clean && message.delivered != 1 && !message.told) violation("is reported delivered and was not");
      return;
    case SendOutcome::kNotSent:
    case SendOutcome::kNoMemory:
      if (message.seen != 0) violation("is reported not sent and was seen");
      return;
    case SendOutcome::kRefused:
      if (message.delivered != 0) violation("is reported refused and was delivered");
      return;
    case SendOutcome::kUnknown:
      if (clean && !message.cancelled && message.fetches_ended == message.delivered) {
        violation("is in doubt on a connection that ended well");
      }
      return;
  }
}

}  // namespace verbena::simulation
