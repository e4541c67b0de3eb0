#include "tests/integration/transport_pair.h"

#include <future>
#include <utility>

#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"

namespace verbena::transport {

TransportOptions TestOptions() {
  TransportOptions options;
  options.rnr_retry_count = 0;
  return options;
}

End::~End() { Destroy(); }

void End::Adopt(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  loop_ = connection_->loop();
  connection_->set_handler(this);
}

void End::OnLoop(std::function<void(Connection&)> task) {
  std::promise<void> done;
  loop_->Post([&] {
    if (connection_ != nullptr) task(*connection_);
    done.set_value();
  });
  done.get_future().wait();
}

namespace {

constexpr uint8_t kMessageKind = 1;
constexpr uint64_t kTagOffset = 1'000'000;  // From a call's id: a tag is the sender's own.

}  // namespace

uint64_t End::SendOn(Connection& connection, uint64_t call_id, absl::Cord payload, absl::string_view header) {
  OutboundMessage message;
  message.kind = kMessageKind;
  message.call_id = call_id;
  message.tag = call_id + kTagOffset;
  message.header = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(header.data()), header.size());
  message.attachment = std::move(payload);
  message.awaited = awaits_sends;
  message.leaves_unreported = message.ends_burst = leaves_unreported;
  const uint64_t send_id = connection.Send(std::move(message));
  if (send_id == Connection::kLeft) ++left;
  return send_id;
}

uint64_t End::Send(uint64_t call_id, absl::Cord payload, absl::string_view header) {
  uint64_t send_id = 0;
  OnLoop([&](Connection& connection) { send_id = SendOn(connection, call_id, std::move(payload), header); });
  return send_id;
}

void End::Reply(uint64_t call_id, absl::Cord payload) { SendOn(*connection_, call_id, std::move(payload), "reply"); }

void End::Destroy() {
  if (loop_ != nullptr) OnLoop([this](Connection&) { connection_.reset(); });
}

bool End::Wait(std::function<bool()> condition) {
  std::unique_lock lock(mu_);
  return changed_.wait_for(lock, absl::ToChronoMilliseconds(kPatience), condition);
}

bool End::WaitForMessages(size_t count) {
  return Wait([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return messages_.size() >= count; });
}

bool End::WaitForSent(size_t count) {
  return Wait([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return sent_.size() >= count; });
}

bool End::WaitForClosed() {
  return Wait([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !closed_.empty(); });
}

std::vector<End::Message> End::messages() {
  const std::lock_guard lock(mu_);
  return messages_;
}

std::vector<std::pair<uint64_t, SendOutcome>> End::sent() {
  const std::lock_guard lock(mu_);
  return sent_;
}

std::vector<absl::Status> End::failed_fetches() {
  const std::lock_guard lock(mu_);
  return failed_fetches_;
}

absl::Status End::closed_status() {
  const std::lock_guard lock(mu_);
  EXPECT_EQ(closed_.size(), 1u) << "OnClosed is made exactly once";
  return closed_.empty() ? absl::OkStatus() : closed_.front();
}

bool End::peer_draining() {
  const std::lock_guard lock(mu_);
  return peer_draining_;
}

Verdict End::OnAnnounced(const MessageHead& head) { return on_announced ? on_announced(head) : Verdict::kFetch; }

void End::OnMessage(const MessageHead& head, ReceivedPayload& payload) {
  const std::string header(reinterpret_cast<const char*>(head.header.data()), head.header.size());
  const Message message{head.kind, head.call_id, header, payload.Share(0)};
  EXPECT_EQ(head.payload_bytes, message.payload.size());
  if (on_message) on_message(*this, message);
  const std::lock_guard lock(mu_);
  messages_.push_back(message);
  if (!keeps_payloads) messages_.back().payload.Clear();
  changed_.notify_all();
}

void End::OnPart(const MessageHead& head, ReceivedPayload& landed) {
  if (on_part) on_part(*connection_, head, landed);
  if (landed.bytes().size() == head.payload_bytes) OnMessage(head, landed);
}

void End::DropPayloads() {
  const std::lock_guard lock(mu_);
  for (Message& message : messages_) message.payload.Clear();
}

void End::OnFetchFailed(const MessageHead&, const absl::Status& status) {
  const std::lock_guard lock(mu_);
  failed_fetches_.push_back(status);
  changed_.notify_all();
}

void End::OnSent(const SentMessage& sent, SendOutcome outcome) {
  const std::lock_guard lock(mu_);
  EXPECT_EQ(sent.kind, kMessageKind);
  sent_.emplace_back(sent.tag - kTagOffset, outcome);
  changed_.notify_all();
}

void End::OnPeerDraining() {
  const std::lock_guard lock(mu_);
  peer_draining_ = true;
  changed_.notify_all();
}

void End::OnClosed(const absl::Status& status) {
  const std::lock_guard lock(mu_);
  closed_.push_back(status);
  changed_.notify_all();
}

TransportPair::TransportPair(const TransportOptions& options, WaitPolicy wait) : options_(options) {
  EventLoopOptions loop_options;
  loop_options.wait = wait;
  server_loops_ = *EventLoopGroup::Start(1, loop_options);
  client_loops_ = *EventLoopGroup::Start(1, loop_options);
  absl::StatusOr<std::unique_ptr<Listener>> listener =
      Listener::Listen(integration::AddressUnderTest(), options_, {server_loops_->loop(0)},
                       [this](std::unique_ptr<Connection> connection) { Accept(std::move(connection)); });
  EXPECT_TRUE(listener.ok()) << listener.status();
  listener_ = *std::move(listener);
}

TransportPair::~TransportPair() { Close(); }

void TransportPair::Close() {
  clients_.clear();
  listener_.reset();
  {
    const std::lock_guard lock(mu_);
    servers_.clear();
  }
  // Loops end their links before they go.
  client_loops_.reset();
  server_loops_.reset();
}

void TransportPair::Accept(std::unique_ptr<Connection> connection) {
  auto end = std::make_unique<End>();
  if (prepare_accepted) prepare_accepted(*end);
  end->Adopt(std::move(connection));
  const std::lock_guard lock(mu_);
  servers_.push_back(std::move(end));
  changed_.notify_all();
}

End* TransportPair::Connect() {
  auto end = std::make_unique<End>();
  std::promise<absl::Status> done;
  transport::Connect(address(), options_, client_loop(), [&](absl::StatusOr<std::unique_ptr<Connection>> connection) {
    if (connection.ok()) end->Adopt(*std::move(connection));
    done.set_value(connection.status());
  });
  status_ = done.get_future().get();
  if (!status_.ok()) return nullptr;
  clients_.push_back(std::move(end));
  return clients_.back().get();
}

End* TransportPair::accepted(size_t index) {
  std::unique_lock lock(mu_);
  const bool there = changed_.wait_for(lock, absl::ToChronoMilliseconds(End::kPatience),
                                       [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return servers_.size() > index; });
  EXPECT_TRUE(there) << "connection " << index << " was not accepted";
  return there ? servers_[index].get() : nullptr;
}

}  // namespace verbena::transport
