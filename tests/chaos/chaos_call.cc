#include "tests/chaos/chaos_call.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "rpc/certainty.h"
#include "tests/chaos/content.h"

namespace verbena::chaos {
namespace {

Outcome OutcomeOf(const absl::Status& status, bool right_bytes) {
  if (status.ok()) return right_bytes ? Outcome::kOk : Outcome::kWrongBytes;
  switch (GetCertainty(status)) {
    case Certainty::kNotSent:
      return Outcome::kNotSent;
    case Certainty::kOutcomeUnknown:
      return Outcome::kUnknown;
    case Certainty::kExecuted:
      return Outcome::kExecuted;
  }
  return Outcome::kWrongBytes;
}

}  // namespace

ChaosCall::ChaosCall(uint64_t token, const CallPlan& plan, LedgerWriter* ledger)
    : token_(token), plan_(plan), ledger_(*ledger) {
  context_.set_timeout(plan.timeout);
  context_.set_wait_for_ready(plan.wait_for_ready);
  context_.set_hash_key(absl::StrCat(plan.hash_key));
  context_.set_attachment(absl::Cord(Content(token, Part::kAttachment, 0, plan.attachment_bytes)));
  if (!context_.AddMetadata("token", absl::StrCat(token)).ok()) wrong_bytes_ = true;
}

void ChaosCall::Begin() {
  const absl::Time now = absl::Now();
  ledger_.Begun({token_, now, now + plan_.timeout, plan_.cancel_after.has_value(), Describe(plan_)});
}

void ChaosCall::End(const absl::Status& status) {
  const Outcome outcome = OutcomeOf(status, HasItsReplies());
  ok_ = outcome == Outcome::kOk;
  ledger_.Ended({token_, absl::Now(), outcome, status.code(), std::string(status.message())});
}

Request ChaosCall::MakeRequest(uint32_t index) const {
  Request request;
  request.set_index(index);
  request.set_replies(plan_.messages);
  request.set_reply_bytes(plan_.reply_bytes);
  request.set_hold_milliseconds(plan_.hold_milliseconds);
  request.set_body(Content(token_, Part::kRequest, index, plan_.request_bytes));
  return request;
}

void ChaosCall::Take(const Reply& reply) {
  const uint32_t index = replies_++;
  const uint32_t requests = plan_.kind == CallKind::kDuplex ? replies_ : this->requests();
  // A server that was sent no request knows no size to answer with.
  const uint32_t bytes = requests == 0 ? 0 : plan_.reply_bytes;
  if (reply.requests() != requests || reply.body() != Content(token_, Part::kReply, index, bytes)) wrong_bytes_ = true;
}

bool ChaosCall::HasItsReplies() const {
  const bool many = plan_.kind == CallKind::kDownload || plan_.kind == CallKind::kDuplex;
  return !wrong_bytes_ && replies_ == (many ? plan_.messages : 1) &&
         context_.attachment() == Content(token_, Part::kAttachment, 0, plan_.attachment_bytes);
}

}  // namespace verbena::chaos
