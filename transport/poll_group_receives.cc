// How a PollGroup has as many frame buffers as its connections need, and gives back the others.

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/log.h"
#include "transport/poll_group.h"
#include "transport/queue_sizes.h"

namespace verbena::transport {
namespace {

// Between two tries to post what the device has refused, from the first to the last, each twice the one before.
constexpr absl::Duration kRefusedDelayMin = absl::Milliseconds(1);
constexpr absl::Duration kRefusedDelayMax = absl::Milliseconds(64);

}  // namespace

absl::StatusOr<std::unique_ptr<ReceiveSupply>> PollGroup::MakeSupply(verbs::QueuePair* queue_pair) {
  auto supply = std::make_unique<ReceiveSupply>(SupplySurroundings(), queue_pair, receives_per_connection());
  if (absl::Status status = supply->Add(receives_per_connection()); !status.ok()) return status;
  supply->PutInBudget(supply->kept());
  return supply;
}

absl::Status PollGroup::ReserveConnection() {
  if (failed_) return absl::UnavailableError(failure_.message());
  const uint64_t connections = counters_.connections.value() + 1;
  if (connections > options_.connections_max) {
    return absl::ResourceExhaustedError(absl::StrCat("connections_max of ", options_.connections_max, " is reached"));
  }
  if (absl::Status status = ProvideForConnection(connections); !status.ok()) return status;
  counters_.connections.Add(1);
  connections_most_ = std::max(connections_most_, connections);
  return absl::OkStatus();
}

absl::Status PollGroup::ProvideForConnection(uint64_t connections) {
  if (shared_ != nullptr) return shared_->ProvideFor(connections);
  if (connections * receives_per_connection() <= receives_max_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      device_->device().name(), " has no shared receive queue, and the completion queue has room for the receives of ",
      receives_max_ / receives_per_connection(), " connections"));
}

// Each supply that has posted is something handled: whoever waits for grants has them now, and a turn more before the
// loop sleeps.
int PollGroup::PostReceives(bool idle) {
  int posted = 0;
  for (size_t i = used_supplies_.size(); i > 0; --i) {  // From the back: a supply leaves the list when all is posted.
    ReceiveSupply& supply = *used_supplies_[i - 1];
    if ((!idle && !supply.WorthPosting()) || !supply.PostUsed()) continue;
    if (shared_ != nullptr) shared_->ProvideForActive();
    WakeForGrants(supply);
    ++posted;
  }
  return posted;
}

// A loop that is about to sleep has posted all that the device takes: what is left it has refused. Peers that have no
// credit for want of it send nothing that would wake the loop.
void PollGroup::WatchRefusedReceives() {
  if (used_supplies_.empty()) {
    refused_delay_ = absl::ZeroDuration();
    return;
  }
  if (refused_timer_ != 0) return;
  refused_delay_ = std::clamp(2 * refused_delay_, kRefusedDelayMin, kRefusedDelayMax);
  refused_timer_ = loop_->AddTimer(loop_->Now() + refused_delay_, [this] { refused_timer_ = 0; });  // It has polled.
}

// What connections needed at any moment of the last period stays, so that those which come and go have it.
bool PollGroup::GiveBackUnused() {
  const uint64_t connections = counters_.connections.value();
  const uint64_t needed = std::exchange(connections_most_, connections);
  uint64_t own_receives = 0;
  bool more = needed > connections;  // The others' are not needed any more when this is called again.
  if (shared_ == nullptr) {
    own_receives = needed * receives_per_connection();
  } else if (!failed_) {
    shared_->ProvideForFewer(needed);
    if (needed == 0 && shared_->has_grown()) MakeReceivesAnew();
    more |= shared_->has_grown();
  }
  more |= receives_.GiveBackFree(static_cast<uint32_t>(own_receives));
  more |= headers_.GiveBackFree(kSlabBuffers);
  return more;
}

// A posted receive comes back by a frame alone, and where there is no connection none will come. But nobody uses the
// queue either: once every completion of its last users was handled, it may go with all that is posted in it.
void PollGroup::MakeReceivesAnew() {
  Defer([this, links_made = links_made_] {
    const bool in_use = counters_.connections.value() > 0 || shared_->supply().grants().members() > 0;
    if (in_use || links_made != links_made_ || failed_) return;  // Perhaps in a later period.
    if (const absl::Status status = shared_->MakeAnew(); !status.ok()) Log(Severity::kInfo, status.message());
  });
}

}  // namespace verbena::transport
