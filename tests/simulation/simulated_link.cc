#include "tests/simulation/simulated_link.h"

#include <algorithm>
#include <utility>

namespace verbena::simulation {

// A moment not before `last`, which it becomes.
absl::Time SimulatedLink::InOrder(absl::Time& last) {
  last = std::max(last, world_.now() + world_.Latency());
  return last;
}

void SimulatedLink::Queue(int from, const wire::FrameHeader& header) {
  if (broken_) return;
  UnderWay& under_way = directions_[from].under_way;
  ++under_way.sends;
  under_way.grants += header.credit_grant;
  if (header.type == wire::FrameType::kReturn) under_way.returns += header.aux;
}

void SimulatedLink::Post(int from, const wire::FrameHeader& header, std::vector<std::byte> bytes, bool signaled) {
  if (broken_) return;
  wire::FrameHeader sent = header;
  if (header.credit_grant > 0 && world_.Strikes(Sabotage::kDropGrant)) {
    sent.credit_grant = 0;
    wire::EncodeFrameHeader(sent, bytes.data());
  }
  auto shared = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  absl::Time arrival = InOrder(directions_[from].last_arrival);
  if (world_.Strikes(Sabotage::kReorderFrames)) arrival += absl::Milliseconds(1);
  world_.At(arrival, [this, from, header, shared, signaled] { Arrive(from, header, shared, signaled); });
}

void SimulatedLink::Arrive(int from, const wire::FrameHeader& header,
                           const std::shared_ptr<std::vector<std::byte>>& bytes, bool signaled) {
  if (broken_) return;
  const bool lost = header.type == wire::FrameType::kFinish && world_.Strikes(Sabotage::kDropFinish);
  if (!lost) Deliver(from, header, bytes);
  if (world_.Strikes(Sabotage::kDeliverTwice)) Deliver(from, header, bytes);
  if (world_.Strikes(Sabotage::kLoseSendCompletions)) return;
  Direction& direction = directions_[from];
  ++direction.arrived;
  if (!signaled) return;
  world_.At(InOrder(direction.last_completion), [this, from, count = std::exchange(direction.arrived, 0)] {
    if (!broken_) ends_[from]->OnSendCompletion(count);
  });
}

void SimulatedLink::Deliver(int from, const wire::FrameHeader& header,
                            const std::shared_ptr<std::vector<std::byte>>& bytes) {
  LinkEnd* const to = ends_[from ^ 1];
  to->loop().OnArrival();
  world_.At(InOrder(directions_[from].last_poll), [this, from, to, header, bytes] {
    UnderWay& under_way = directions_[from].under_way;
    --under_way.sends;
    under_way.grants -= header.credit_grant;
    if (header.type == wire::FrameType::kReturn) under_way.returns -= header.aux;
    to->OnFrameBytes(*bytes);
  });
}

void SimulatedLink::Read(int from, const protocol::PostRead& read) {
  if (broken_) return;
  const bool fails = world_.random.OneIn(world_.scenario.read_error_one_in);
  // A READ of what was revoked fails, as on a device; one of anything else that is not exported is a violation.
  const auto refused = [this, from, read] {
    const LinkEnd::Access access = ends_[from ^ 1]->AccessTo(read.remote_address, read.remote_key, read.length);
    if (access == LinkEnd::Access::kNone) world_.Violation("a READ of memory that is not exported, or no longer");
    return access != LinkEnd::Access::kOpen;
  };
  const bool refused_at_once = refused();
  world_.At(InOrder(directions_[from].last_read), [this, from, read, fails, refused, refused_at_once] {
    if (broken_) return;
    const bool failed = fails || refused_at_once || refused();
    if (failed) Disturb();
    ends_[from]->OnReadCompletion(read.fetch_id, !failed);
    if (failed) Break();
  });
}

void SimulatedLink::Break() {
  if (broken_) return;
  broken_ = true;
  for (int end : {0, 1}) {
    Direction& inbound = directions_[end ^ 1];
    LinkEnd* const told = ends_[end];
    world_.At(InOrder(inbound.last_poll), [told] { told->OnBroken(); });
  }
}

}  // namespace verbena::simulation
