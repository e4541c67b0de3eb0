#include "tests/integration/scarcity/random_end.h"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "transport/event_loop.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kCalls = 64;
constexpr uint64_t kSendsMax = 60;
constexpr size_t kKeptMax = 3;
constexpr std::array<size_t, 6> kSizes = {10, 3000, 9000, 40'000, 200'000, 900'000};

class Sevens : public PayloadSource {
 public:
  explicit Sevens(size_t size) : size_(size) {}
  size_t size() const override { return size_; }
  void WriteTo(std::byte* to) override { std::memset(to, 7, size_); }

 private:
  const size_t size_;
};

}  // namespace

void RandomEnd::Adopt(std::unique_ptr<Connection> connection) {
  self_ = shared_from_this();
  connection_ = std::move(connection);
  connection_->set_handler(this);
  for (int i = 0; i < 10; ++i) Act();
}

void RandomEnd::Drop() {
  if (connection_ == nullptr) return;
  EventLoop* const loop = connection_->loop();
  connection_.reset();
  sends_.clear();
  loop->Post([self = std::move(self_)] {});  // When nothing of it is on the stack.
}

void RandomEnd::Act() {
  if (connection_ == nullptr) return;
  const uint64_t roll = Roll(40);
  if (roll < 3) return ends_ ? End() : SendOne();
  if (roll < 7 && !sends_.empty()) return connection_->CancelSend(sends_[Roll(sends_.size())].id);
  if (roll < 10) return connection_->CancelFetch(Roll(kCalls));
  SendOne();
}

void RandomEnd::End() {
  switch (Roll(16)) {
    case 0:
      return connection_->Drain();
    case 1:
      return connection_->Abort(absl::CancelledError("at random"));
    case 2:
      return Drop();
    default:
      return;
  }
}

void RandomEnd::SendOne() {
  if (tags_ == kSendsMax) return;
  auto payload = std::make_unique<Sevens>(Roll(2) == 0 ? kSizes[Roll(kSizes.size())] : 5);
  const std::array<std::byte, 4> header = {};
  OutboundMessage message;
  message.kind = 1;
  message.call_id = Roll(kCalls);
  message.tag = ++tags_;
  message.header = absl::MakeConstSpan(header);
  message.payload = payload.get();
  if (Roll(2) == 0) message.attachment = absl::Cord(std::string(kSizes[Roll(kSizes.size())], 'x'));
  message.leaves_unreported = Roll(2) == 0;
  message.ends_burst = Roll(2) == 0;
  message.awaited = Roll(2) == 0;
  const uint64_t tag = message.tag;
  const uint64_t id = connection_->Send(std::move(message));
  if (id != Connection::kLeft) sends_.push_back({id, tag, std::move(payload)});
}

void RandomEnd::Keep(ReceivedPayload& payload) {
  if (Roll(4) == 0) kept_.push_back(payload.Share(0));
  if (kept_.size() > kKeptMax) kept_.erase(kept_.begin());
}

Verdict RandomEnd::OnAnnounced(const MessageHead&) {
  Act();
  const uint64_t roll = Roll(10);
  if (roll == 0) return Verdict::kRefuse;
  return roll < 4 ? Verdict::kFetchInParts : Verdict::kFetch;
}

void RandomEnd::OnMessage(const MessageHead&, ReceivedPayload& payload) {
  Keep(payload);
  Act();
  Act();
}

void RandomEnd::OnPart(const MessageHead&, ReceivedPayload& landed) {
  Keep(landed);
  Act();
}

void RandomEnd::OnSent(const SentMessage& sent, SendOutcome) {
  std::erase_if(sends_, [&](const Send& send) { return send.tag == sent.tag; });
  Act();
}

void RandomEnd::OnClosed(const absl::Status&) {
  EXPECT_TRUE(sends_.empty()) << "each is reported before";
  Drop();
}

}  // namespace verbena::transport
