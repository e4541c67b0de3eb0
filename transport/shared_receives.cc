#include "transport/shared_receives.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/log.h"
#include "transport/protocol/limits.h"
#include "transport/queue_sizes.h"

namespace verbena::transport {

absl::StatusOr<std::unique_ptr<SharedReceives>> SharedReceives::Make(const verbs::ProtectionDomain& domain,
                                                                     const ReceiveSupply::Surroundings& surroundings,
                                                                     const Sizes& sizes) {
  std::unique_ptr<SharedReceives> made(new SharedReceives(domain, surroundings, sizes));
  if (absl::Status status = made->MakeQueue(); !status.ok()) return status;
  if (absl::Status status = made->MakeSupply(); !status.ok()) return status;
  return made;
}

// In place of one that there is, which goes before the buffers that it names.
absl::Status SharedReceives::MakeQueue() {
  absl::StatusOr<verbs::SharedReceiveQueue> queue = verbs::SharedReceiveQueue::Create(domain_, sizes_.max, 1);
  if (!queue.ok()) return queue.status();
  queue_ = *std::move(queue);
  watched_ = false;
  return absl::OkStatus();
}

bool SharedReceives::WatchForLow() {
  const uint32_t low = sizes_.at_first / 4;
  if (refused_ || supply_->posted() <= low) return false;
  if (watched_) return true;
  const absl::Status status = queue_->SetLimit(low);
  if (!status.ok()) Log(Severity::kInfo, absl::StrCat("a loop that sleeps wakes for everything: ", status.message()));
  refused_ = !status.ok();
  return watched_ = status.ok();
}

void SharedReceives::OnLow(const ibv_srq* low) {
  if (queue_.has_value() && queue_->get() == low) watched_ = false;
}

absl::Status SharedReceives::MakeSupply() {
  supply_.emplace(surroundings_, &*queue_, queue_->receives_max());
  if (absl::Status status = supply_->Add(sizes_.at_first); !status.ok()) return status;
  supply_->PutInBudget(SpareAtFirst());
  supply_->grants().DivideAtMost(SpareAtFirst());
  provided_ = 0;
  return absl::OkStatus();
}

absl::Status SharedReceives::ProvideFor(uint64_t connections) {
  supply_->PostUsed();  // What the device refused so far must turn nobody away that it would take now.
  if (connections <= provided_) return absl::OkStatus();
  constexpr uint32_t kMin = protocol::kCreditsPerConnectionMin;
  if (absl::Status status = KeepSome(kMin); !status.ok()) {
    // What was added for the active ones serves the newcomer.
    if (supply_->grants().spare() >= SpareAtFirst() + kMin) supply_->TakeSpare(kMin);
    if (supply_->kept() < kMin) return status;
  }
  supply_->PutInBudget(kMin);
  ++provided_;
  supply_->grants().ProvideFor(static_cast<uint32_t>(provided_));
  return absl::OkStatus();
}

absl::Status SharedReceives::KeepSome(uint32_t count) {
  if (supply_->kept() >= count || supply_->KeepLeavingSlab()) return absl::OkStatus();
  return supply_->Add(kSlabBuffers);
}

void SharedReceives::AddSpare() {
  const uint64_t spare_max = uint64_t{SpareAtFirst()} + sizes_.spare_max, spare = supply_->grants().spare();
  if (spare >= spare_max) return;
  if (const absl::Status status = KeepSome(1); !status.ok()) {
    Log(Severity::kInfo, absl::StrCat("connections have no credits beyond their minimum: ", status.message()));
    spare_refused_ = true;
    return;
  }
  const auto most = static_cast<uint32_t>(std::min<uint64_t>(kSlabBuffers, spare_max - spare));
  supply_->PutInBudget(std::min(supply_->kept(), most));
}

void SharedReceives::ProvideForFewer(uint64_t connections) {
  spare_refused_ = false;
  if (!has_grown()) return;
  const uint64_t needed = std::max<uint64_t>(connections, supply_->grants().members());
  if (needed < provided_ && supply_->ProvideForFewer(static_cast<uint32_t>(needed))) provided_ = needed;
  const uint64_t spare = supply_->grants().spare(),
                 spare_needed = std::max<uint64_t>(supply_->grants().SpareOfUse(needed), SpareAtFirst());
  supply_->TakeSpare(static_cast<uint32_t>(spare - std::min(spare, spare_needed)));
  while (supply_->LetSlabLeave()) {
  }
  supply_->GiveBackLeft();
}

absl::Status SharedReceives::MakeAnew() {
  if (absl::Status status = MakeQueue(); !status.ok()) return status;
  supply_.reset();
  surroundings_.pool->GiveBackFree(sizes_.at_first);
  return MakeSupply();  // Finds in the pool what it needs.
}

}  // namespace verbena::transport
