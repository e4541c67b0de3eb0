#include "tests/hostile/hostile_peer.h"

#include <utility>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace verbena::hostile {
namespace {

constexpr absl::Duration kLookAgain = absl::Microseconds(50);

protocol::HandshakeOptions OfferOptions(uint32_t features) {
  protocol::HandshakeOptions options;
  options.features = features;
  options.receive_buffer_bytes = HostileDevice::kFrameBytes;
  options.read_depth = 16;
  return options;
}

HostilePeer::Frame FrameOf(const wire::FrameView& view) {
  HostilePeer::Frame frame;
  frame.header = view.header;
  frame.call_header.assign(view.call_header.begin(), view.call_header.end());
  if (view.header.type == wire::FrameType::kAnnounce) {
    for (size_t i = 0; i < wire::SegmentCount(view); ++i) frame.segments.push_back(wire::DecodeSegment(view, i));
  } else {
    frame.body.assign(view.body.begin(), view.body.end());
  }
  return frame;
}

}  // namespace

HostilePeer::HostilePeer(std::unique_ptr<HostileDevice> device, uint32_t features)
    : device_(std::move(device)), handshake_(OfferOptions(features), HostileDevice::kReceives, kEpoch) {}

HostilePeer::HostilePeer(std::unique_ptr<HostileDevice> device, const protocol::Agreement& agreement)
    : HostilePeer(std::move(device), agreement.features) {
  agreement_ = agreement;
  packing_ = wire::PackingOf(agreement.features);
}

HostilePeer::~HostilePeer() = default;

absl::StatusOr<std::unique_ptr<HostilePeer>> HostilePeer::Open(const std::string& address, uint32_t receives,
                                                               uint32_t features) {
  absl::StatusOr<std::unique_ptr<HostileDevice>> device = HostileDevice::Open(address, receives);
  if (!device.ok()) return device.status();
  std::unique_ptr<HostilePeer> peer(new HostilePeer(*std::move(device), features));
  return peer;
}

absl::StatusOr<std::unique_ptr<HostilePeer>> HostilePeer::Connect(const std::string& address, uint32_t receives,
                                                                  uint32_t features) {
  absl::StatusOr<std::unique_ptr<HostilePeer>> peer = Open(address, receives, features);
  if (!peer.ok()) return peer.status();
  const absl::StatusOr<Answer> answer = (*peer)->Offer((*peer)->ValidHello());
  if (!answer.ok()) return answer.status();
  if (!answer->accepted) return (*peer)->handshake_.OnRejected(answer->private_data);
  absl::StatusOr<protocol::Agreement> agreement = (*peer)->handshake_.OnAccepted(answer->private_data);
  if (!agreement.ok()) return agreement.status();
  (*peer)->agreement_ = *agreement;
  return peer;
}

Bytes HostilePeer::ValidHello() const {
  Bytes hello(wire::kHelloBytes);
  wire::EncodeHello(handshake_.offer(), hello.data());
  return hello;
}

absl::Status HostilePeer::Request(absl::Span<const std::byte> hello) {
  verbs::ConnectionParameters parameters;
  parameters.private_data = hello;
  parameters.responder_resources = 16;
  parameters.initiator_depth = 16;
  parameters.rnr_retry_count = 0;
  return device_->id().Connect(parameters);
}

absl::Status HostilePeer::RequestAndVanish() {
  const absl::Status status = Request(ValidHello());
  device_.reset();
  return status;
}

absl::StatusOr<HostilePeer::Answer> HostilePeer::Offer(absl::Span<const std::byte> hello) {
  if (absl::Status status = Request(hello); !status.ok()) return status;
  absl::StatusOr<verbs::CmEvent> event = device_->NextCmEvent();
  if (!event.ok()) return event.status();
  if (event->type() != RDMA_CM_EVENT_ESTABLISHED && event->type() != RDMA_CM_EVENT_REJECTED) return event->Failure();
  Answer answer{event->type() == RDMA_CM_EVENT_ESTABLISHED,
                Bytes(event->private_data().begin(), event->private_data().end())};
  const absl::StatusOr<wire::Hello> chosen = wire::DecodeHello(answer.private_data);
  if (answer.accepted && chosen.ok()) packing_ = wire::PackingOf(chosen->features);
  return answer;
}

void HostilePeer::Send(const Bytes& frame, ibv_wr_opcode opcode, uint32_t invalidate_key) {
  ASSERT_LE(frame.size(), HostileDevice::kSendBytesMax);
  const absl::Time give_up = absl::Now() + kPatience;
  while (!device_->PostSend(frame, opcode, invalidate_key)) {
    if (!Progress() || absl::Now() > give_up) return;
  }
}

void HostilePeer::SendTogether(const Bytes& first, const Bytes& second) {
  const absl::Time give_up = absl::Now() + kPatience;
  while (!device_->PostTogether(first, second)) {
    if (!Progress() || absl::Now() > give_up) return;
  }
}

bool HostilePeer::Progress() {
  const HostileDevice::Looked looked = device_->Look();
  const bool had_ended = std::exchange(ended_, ended_ || looked.ended);
  if (!looked.completion.has_value()) {
    if (!ended_) absl::SleepFor(kLookAgain);
    return !had_ended;  // The queue was looked at before the end was: what the server said last may stand in it.
  }
  if (looked.completion->status != IBV_WC_SUCCESS) {
    ended_ = true;  // The queue pair is in error; what arrived before still stands in the queue.
    return true;
  }
  if (!HostileDevice::IsReceive(*looked.completion)) return true;
  wire::FrameReader reader(device_->received(*looked.completion), packing_);
  while (!reader.done()) {
    wire::FrameView view;
    const absl::Status status = reader.Next(&view);
    EXPECT_TRUE(status.ok()) << "the server sent: " << status;
    if (!status.ok()) break;
    Record(view);
  }
  device_->PostReceive(static_cast<uint32_t>(looked.completion->wr_id));
  return true;
}

void HostilePeer::Record(const wire::FrameView& view) {
  frames_.push_back(FrameOf(view));
  if (view.header.type != wire::FrameType::kGoodbye) return;
  goodbye_ = static_cast<wire::GoodbyeReason>(view.header.aux);
  for (const std::byte letter : view.call_header) goodbye_words_.push_back(static_cast<char>(letter));
}

std::optional<HostilePeer::Frame> HostilePeer::Receive(wire::FrameType type) {
  const absl::Time give_up = absl::Now() + kPatience;
  bool open = true;
  for (;;) {
    while (!frames_.empty()) {
      Frame frame = std::move(frames_.front());
      frames_.pop_front();
      if (frame.header.type == type) return frame;
    }
    if (!open || absl::Now() > give_up) return std::nullopt;
    open = Progress();
  }
}

bool HostilePeer::WaitForEnd() {
  const absl::Time give_up = absl::Now() + kPatience;
  while (absl::Now() < give_up) {
    if (!Progress()) return true;
  }
  return false;
}

ibv_wc_status HostilePeer::Touch(ibv_wr_opcode opcode, const wire::Segment& segment) {
  device_->PostOneSided(opcode, segment.address, segment.key, static_cast<uint32_t>(segment.length));
  const absl::Time give_up = absl::Now() + kPatience;
  while (absl::Now() < give_up) {
    const HostileDevice::Looked looked = device_->Look();
    if (looked.completion.has_value() && HostileDevice::IsOneSided(*looked.completion)) {
      return looked.completion->status;
    }
  }
  return IBV_WC_GENERAL_ERR;
}

wire::Segment HostilePeer::Shared(uint64_t offset, uint64_t length) const {
  return {reinterpret_cast<uint64_t>(device_->shared_memory().data()) + offset, length, device_->shared_key()};
}

wire::Segment HostilePeer::Private(uint64_t length) const {
  return {reinterpret_cast<uint64_t>(device_->landing().data()), length, device_->private_key()};
}

}  // namespace verbena::hostile
