#include "tests/simulation/simulated_end.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace verbena::simulation {

SimulatedEnd::SimulatedEnd(World* world, Ledger* ledger, SimulatedLoop* loop, SimulatedLink* link, uint32_t number)
    : world_(*world), ledger_(*ledger), loop_(*loop), link_(*link), number_(number) {}

void SimulatedEnd::Start(const protocol::ConnectionConfig& config, protocol::GrantShare share) {
  answers_left_ = world_.scenario.messages;
  receive_buffer_bytes_ = config.peers.receive_buffer_bytes;
  authenticated_ = world_.scenario.authentication_messages == 0;
  machine_.emplace(config, std::move(share), world_.now());
  Pump();
}

void SimulatedEnd::Pump() {
  Act();
  PostOpenSoon();
  if (machine_->TakeDeadlineNews()) WatchDeadline();
}

void SimulatedEnd::Act() {
  while (!world_.violation()) {
    if (!machine_->knows_quiet_rightly()) return world_.Violation(absl::StrCat("end ", number_, " is not quiet"));
    const bool settled = machine_->settled();
    std::optional<protocol::Action> action = machine_->NextAction(Room());
    if (!action) break;
    if (settled) return world_.Violation(absl::StrCat("end ", number_, " was settled and acts"));
    if (closed_) return world_.Violation(absl::StrCat("end ", number_, " acts after Closed"));
    std::visit([this](const auto& a) { Perform(a); }, *action);
  }
}

size_t SimulatedEnd::Room() const { return open_.has_value() ? receive_buffer_bytes_ - open_->bytes.size() : 0; }

void SimulatedEnd::Queue(const wire::FrameHeader& header, std::vector<std::byte> bytes, bool open, bool reported) {
  PostOpen();
  link_.Queue(side(), header);
  open_ = OpenSend{header, std::move(bytes), reported || machine_->awaits_sends()};
  if (!open) PostOpen();
}

void SimulatedEnd::PostOpen() {
  if (!open_.has_value()) return;
  const bool signaled = open_->awaited || unsignaled_ == protocol::kUnsignaledSendsMax || world_.random.OneIn(8);
  unsignaled_ = signaled ? 0 : unsignaled_ + 1;
  link_.Post(side(), open_->header, std::move(open_->bytes), signaled);
  open_.reset();
}

// At once, or as a driver that has more to do in its turn.
void SimulatedEnd::PostOpenSoon() {
  if (!open_.has_value()) return;
  if (world_.random.OneIn(2)) return PostOpen();
  world_.After(world_.Latency(), [this] { PostOpen(); });
}

void SimulatedEnd::WatchDeadline() {
  const absl::Time deadline = machine_->NextDeadline();
  if (deadline >= watched_deadline_) return;
  watched_deadline_ = deadline;
  world_.At(deadline, [this, deadline] {
    if (watched_deadline_ == deadline) watched_deadline_ = absl::InfiniteFuture();
    machine_->OnDeadline(world_.now());
    Pump();
    WatchDeadline();
  });
}

// --- The layer above.

void SimulatedEnd::SendRandomMessages(uint32_t count) {
  messages_to_send_ = count;
  if (count == 0 || !authenticated_) return;
  absl::Duration gap = world_.random.Microseconds(0, world_.scenario.gap_us_max);
  if (world_.random.OneIn(world_.scenario.idle_one_in)) gap += absl::Milliseconds(world_.random.Between(1, 60));
  world_.After(gap, [this] {
    if (closed_) {
      messages_to_send_ = 0;
      return;
    }
    if (world_.random.OneIn(world_.scenario.hold_one_in)) HoldForAWhile();
    SendMessage();
    Pump();
    SendRandomMessages(messages_to_send_ - 1);
  });
}

uint64_t SimulatedEnd::RandomPayloadBytes() {
  Random& random = world_.random;
  const uint64_t buffer = receive_buffer_bytes_;
  switch (random.Between(0, 5)) {
    case 0:
      return 0;
    case 1:
      return random.Between(1, 64);
    case 2:
      return random.Between(0, buffer);
    case 3:
      return buffer - random.Between(0, 100);  // About the eager limit.
    case 4:
      return random.Between(buffer, 4 * buffer);
    default:
      return random.Between(0, world_.scenario.message_bytes_max + world_.scenario.message_bytes_max / 16);
  }
}

void SimulatedEnd::SendMessage() {
  protocol::SendHead head;
  head.message_kind = 1;
  head.payload_bytes = RandomPayloadBytes();
  head.header_bytes = static_cast<uint16_t>(world_.random.Between(0, 64));
  head.refusable = world_.random.OneIn(2);
  head.call_id = ledger_.OnSend(number_, head.payload_bytes);
  if (world_.random.OneIn(2) && SendAtOnce(head)) return;
  const uint64_t send_id = machine_->Send(head);
  calls_[send_id] = head.call_id;
  world_.Trace("end ", number_, " sends message ", head.call_id, " of ", head.payload_bytes, " bytes");
  if (!world_.random.OneIn(world_.scenario.cancel_send_one_in)) return;
  world_.After(world_.random.Microseconds(0, 200), [this, send_id, call_id = head.call_id] {
    if (calls_.count(send_id) == 0) return;
    world_.Trace("end ", number_, " cancels message ", call_id);
    ledger_.OnCancelled(call_id);
    machine_->CancelSend(send_id, world_.now());
    if (world_.Strikes(Sabotage::kReleaseEarly)) exports_.erase(send_id);
    Pump();
  });
}

// If it may leave unreported: its place in the ledger is that of a message whose connection may end before it arrives.
bool SimulatedEnd::SendAtOnce(const protocol::SendHead& head) {
  protocol::PostEager frame{protocol::SendSlots::kNoSend, machine_->JoinAtOnce(head, Room()), head.EagerHeader()};
  if (!frame.joins) {
    const std::optional<uint16_t> grant = machine_->PostAtOnce(head);
    if (!grant.has_value()) return false;
    frame.header.credit_grant = *grant;
  }
  world_.Trace("end ", number_, " sends message ", head.call_id, " of ", head.payload_bytes, " bytes at once");
  ledger_.OnSent(head.call_id, protocol::SendOutcome::kDelivered);
  Perform(frame);
  return true;
}

void SimulatedEnd::MaybeAnswer() {
  if (answers_left_ == 0 || !world_.random.OneIn(world_.scenario.answer_one_in)) return;
  --answers_left_;
  SendMessage();
}

void SimulatedEnd::HoldForAWhile() {
  machine_->HoldMessages(true);
  world_.After(world_.random.Microseconds(0, 500), [this] {
    machine_->HoldMessages(false);
    Pump();
  });
}

void SimulatedEnd::Drain() {
  if (!authenticated_) return;  // The layer above has no connection yet.
  world_.Trace("end ", number_, " drains");
  machine_->Drain(world_.now());
  Pump();
}

void SimulatedEnd::Abort() {
  world_.Trace("end ", number_, " aborts");
  link_.Disturb();
  machine_->Abort(absl::CancelledError("aborted"), world_.now());
  Pump();
}

void SimulatedEnd::OnWake() {
  machine_->OnBudgetWakeup();
  Pump();
}

// --- The link.

void SimulatedEnd::OnFrameBytes(const std::vector<std::byte>& bytes) {
  machine_->OnSendArrived();
  wire::FrameReader frames(bytes, world_.scenario.packing);
  while (!frames.done()) {
    wire::FrameView frame;
    if (absl::Status status = frames.Next(&frame); !status.ok()) {
      machine_->OnMalformedFrame(std::move(status), world_.now());
      break;
    }
    world_.Trace("end ", number_, " receives ", wire::ToString(frame.header.type), " of call ", frame.header.call_id,
                 ", grant ", frame.header.credit_grant);
    const bool delivered = machine_->OnFrame(frame, world_.now());
    if (delivered) Deliver(frame);
    // What a message asked for, or a quiet machine, may be left to the end of the turn. Else before the next frame:
    // actions point into this one.
    if ((delivered || machine_->quiet()) && world_.random.OneIn(2)) continue;
    Act();
  }
  PumpIfDue();
  loop_.OnPolled();
  loop_.WakeConnections();
}

// As a driver that leaves a settled machine alone until something else happens.
void SimulatedEnd::PumpIfDue() {
  if (!machine_->settled() || open_.has_value() || !machine_->knows_quiet_rightly()) return Pump();
  if (machine_->NextDeadline() < watched_deadline_) {
    world_.Violation(absl::StrCat("end ", number_, " was settled and has an earlier deadline"));
  }
}

void SimulatedEnd::Deliver(const wire::FrameView& eager) {
  ExpectAuthenticated("a message");
  ledger_.OnEager(number_, eager.header.call_id, eager.body.size());
  MaybeAnswer();
}

void SimulatedEnd::OnSendCompletion(uint32_t count) {
  machine_->OnSendCompleted(count, world_.now());
  PumpIfDue();
}

void SimulatedEnd::OnReadCompletion(uint64_t fetch_id, bool ok) {
  FetchState& fetch = fetches_[fetch_id];
  if (fetch.landing_bytes == 0) world_.Violation("a READ lands in memory that was given up");
  if (ok) fetch.there_bytes += fetch.read_lengths.front();
  fetch.read_lengths.pop_front();
  machine_->OnReadCompleted(fetch_id, ok);
  Pump();
}

LinkEnd::Access SimulatedEnd::AccessTo(uint64_t address, uint32_t key, uint64_t length) const {
  const auto covers = [&](const ExportedMemory& memory) {
    return key == memory.key && address >= memory.address && address + length <= memory.address + memory.bytes;
  };
  for (const auto& [send_id, memory] : exports_) {
    if (covers(memory)) return Access::kOpen;
  }
  return std::any_of(revoked_.begin(), revoked_.end(), covers) ? Access::kRevoked : Access::kNone;
}

void SimulatedEnd::OnBroken() {
  world_.Trace("end ", number_, " is disconnected");
  disconnecting_ = true;
  for (auto& [id, fetch] : fetches_) fetch.read_lengths.clear();
  machine_->OnDisconnected(absl::UnavailableError("the queue pair failed"));
  Pump();
  loop_.WakeConnections();
}

void SimulatedEnd::CheckAtEnd() const {
  if (!calls_.empty()) world_.Violation(absl::StrCat("end ", number_, " has sends without an end"));
  if (!exports_.empty()) world_.Violation(absl::StrCat("end ", number_, " leaks exported memory"));
  for (const auto& [id, fetch] : fetches_) {
    if (fetch.landing_bytes > 0) world_.Violation(absl::StrCat("end ", number_, " leaks landing memory"));
  }
}

}  // namespace verbena::simulation
