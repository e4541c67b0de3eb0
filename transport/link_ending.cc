// How a Link connects and ends.

#include <memory>
#include <utility>
#include <vector>

#include "transport/link.h"
#include "transport/log.h"

namespace verbena::transport {
namespace {

// How long the end waits for LAST_WQE_REACHED after the last completion. A device that says it does so at once;
// Soft-RoCE and iWARP devices never do.
constexpr absl::Duration kLastReceiveWait = absl::Milliseconds(50);
// How long the end waits for flushed completions, before the queue pair is destroyed without them: far more than any
// device needs.
constexpr absl::Duration kFlushWait = absl::Seconds(2);
// The peer's NIC waits this long before it retries after "receiver not ready": 0.64 ms. (0 would be the longest, 655
// ms.)
constexpr uint8_t kReceiverNotReadyTimer = 12;

}  // namespace

absl::Status Link::Connect(const verbs::ConnectionParameters& parameters) {
  if (!group_->device().device().is_iwarp()) return id_.Connect(parameters);
  std::vector<std::byte> private_data(parameters.private_data.begin(), parameters.private_data.end());
  auto connecting = BlockingCall::Start(
      group_->loop(),
      [this, copy = parameters, private_data = std::move(private_data)]() mutable {
        copy.private_data = private_data;
        return id_.Connect(copy);
      },
      [this](const absl::Status& status) { OnConnectReturned(status); });
  if (!connecting.ok()) return connecting.status();
  call_ = *std::move(connecting);
  calls_block_ = true;
  return absl::OkStatus();
}

void Link::OnConnectReturned(const absl::Status& status) {
  call_.reset();
  if (!status.ok()) calls_block_ = false;  // There is nothing to wait for.
  if (phase_ == Phase::kDisconnecting) return Disconnect();
  if (!status.ok() && !std::exchange(failed_, true)) owner_->OnFailure(status);
}

void Link::OnEstablished() {
  calls_block_ = false;
  // A device that cannot change it now keeps its own; credits leave nothing to retry.
  const absl::Status status = queue_pair_->SetReceiverNotReadyTimer(kReceiverNotReadyTimer);
  if (!status.ok()) Log(Severity::kInfo, status.message());
}

void Link::End() {
  if (phase_ != Phase::kOpen) return;
  parked_.clear();
  Flush();
  AwaitSends();
  phase_ = Phase::kDisconnecting;
  failed_ = true;  // Whatever fails from here on is the consequence.
  if (own_receives_ != nullptr) own_receives_->Close();
  group_->loop()->CancelTimer(std::exchange(end_timer_, 0));
  if (call_ == nullptr) Disconnect();
}

// Neither this nor the move to ERR can fail in a way that matters: the peer may be gone, the queue pair in ERR already.
void Link::Disconnect() {
  if (calls_block_) {
    auto disconnecting = BlockingCall::Start(
        group_->loop(), [this] { return id_.Disconnect(); },
        [this](const absl::Status&) {
          call_.reset();
          BeginFlushing();
        });
    if (disconnecting.ok()) {
      call_ = *std::move(disconnecting);
      return;
    }
  }
  id_.Disconnect().IgnoreError();
  BeginFlushing();
}

void Link::BeginFlushing() {
  phase_ = Phase::kFlushing;
  queue_pair_->ModifyToError().IgnoreError();
  // After a refusal the last that were posted may ask for no completion, and have succeeded.
  if (AllCompleted() || refused_ || group_->failed()) {
    EndSoon();
  } else {
    SetEndTimer(kFlushWait, [this] { FinishWhenDrained(); });
  }
}

void Link::SetEndTimer(absl::Duration wait, absl::AnyInvocable<void()> callback) {
  EventLoop* const loop = group_->loop();
  end_timer_ = loop->AddTimer(loop->ReadNow() + wait, std::move(callback));
}

void Link::OnLastReceiveTaken() {
  last_receive_taken_ = true;
  if (phase_ == Phase::kFlushing && AllCompleted()) EndSoon();
}

void Link::EndSoon() {
  group_->loop()->CancelTimer(std::exchange(end_timer_, 0));
  if (last_receive_taken_) return FinishWhenDrained();
  SetEndTimer(kLastReceiveWait, [this] { FinishWhenDrained(); });
}

// Destroying a queue pair takes its completions out of the queue, and with a receive's the only word of which buffer it
// took: all that have come must be handled before.
void Link::FinishWhenDrained() {
  if (std::exchange(finishing_, true)) return;
  group_->Defer([group = group_, queue_pair = queue_pair_->number()] {
    if (Link* link = group->FindLink(queue_pair); link != nullptr && link->finishing_) link->Finish();
  });
}

void Link::Finish() {
  Destroy();
  { const verbs::ConnectionId gone = std::move(id_); }  // A removed device waits for it, not for this.
  owner_->OnEnded();                                    // May destroy this.
}

void Link::Destroy() {
  call_.reset();  // Waits for its return: it uses the id and the queue pair.
  group_->loop()->CancelTimer(end_timer_);
  const uint32_t queue_pair_number = queue_pair_->number();
  group_->device().RemoveQueuePair(queue_pair_number);
  windows_.Close();
  queue_pair_.reset();
  if (own_receives_ != nullptr) own_receives_->Retire();
  sends_.reset();
  EndUnsignaled();
  if (flights().size() > 0) group_->DropFlights(number_);
  channel_->RemoveHandler(id_);
  group_->RemoveLink(number_, queue_pair_number);
  phase_ = Phase::kEnded;
}

}  // namespace verbena::transport
