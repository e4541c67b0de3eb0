#include "rpc/testing/memory_connection.h"

#include <algorithm>
#include <cassert>

#include "rpc/testing/memory_link.h"

namespace verbena::testing {

using transport::SendOutcome;

namespace {

class StringPayload : public transport::ReceivedPayload {
 public:
  explicit StringPayload(absl::string_view body) : body_(body) {}
  absl::Span<const std::byte> bytes() const override {
    return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(body_.data()), body_.size());
  }
  absl::Cord Share(size_t offset) override { return absl::Cord(body_.substr(offset)); }

 private:
  const absl::string_view body_;
};

}  // namespace

MemoryConnection::Pair MemoryConnection::MakePair(transport::EventLoop* first_loop, transport::EventLoop* second_loop,
                                                  std::string peer_of_first, std::string peer_of_second,
                                                  const Options& options) {
  auto link = std::make_shared<MemoryLink>();
  return {
      std::unique_ptr<MemoryConnection>(new MemoryConnection(link, 0, first_loop, std::move(peer_of_first), options)),
      std::unique_ptr<MemoryConnection>(
          new MemoryConnection(link, 1, second_loop, std::move(peer_of_second), options))};
}

MemoryConnection::MemoryConnection(std::shared_ptr<MemoryLink> link, int side, transport::EventLoop* loop,
                                   std::string peer, const Options& options)
    : link_(std::move(link)), side_(side), loop_(loop), peer_(std::move(peer)), options_(options) {
  link_->set_end(side_, this);
}

MemoryConnection::~MemoryConnection() {
  link_->set_end(side_, nullptr);
  PostToPeer([](MemoryConnection& peer) { peer.CloseLater(absl::UnavailableError("the peer is gone")); });
}

void MemoryConnection::PostToPeer(EndTask task) {
  if (black_hole_) return;
  ++tasks_posted_;
  link_->PostTo(1 - side_, [task = std::move(task)](MemoryConnection& peer) mutable { peer.Arrive(std::move(task)); });
}

void MemoryConnection::Arrive(EndTask task) {
  const absl::Duration delay = link_->delay();
  if (delay == absl::ZeroDuration() && arriving_.empty()) return task(*this);  // May destroy this.
  arriving_.push_back(std::move(task));
  last_arrival_ = std::max(last_arrival_, loop_->Now() + delay);
  link_->AddTimer(side_, last_arrival_, [](MemoryConnection& self) {
    EndTask arrived = std::move(self.arriving_.front());
    self.arriving_.pop_front();
    if (!self.black_hole_) arrived(self);  // May destroy it.
  });
}

void MemoryConnection::BlackHole() {
  black_hole_ = true;
  if (options_.silence_max == absl::InfiniteDuration()) return;
  link_->AddTimer(side_, loop_->Now() + options_.silence_max, [](MemoryConnection& self) {
    self.CloseLater(absl::UnavailableError("the peer does not answer: a keepalive probe timed out"));
  });
}

void MemoryConnection::PostToSelf(EndTask task) {
  ++tasks_posted_;
  link_->PostTo(side_, std::move(task));
}

uint64_t MemoryConnection::Send(transport::OutboundMessage&& message) {
  assert(!draining_ && "no Send after Drain");
  Queued queued{
      ++last_send_id_,
      {message.kind, message.call_id,
       std::string(reinterpret_cast<const char*>(message.header.data()), message.header.size()), "", message.tag},
      message.payload,
      std::move(message.attachment)};
  if (!closing_) ++messages_sent_;
  if (!closing_ && message.awaited) ++awaited_sent_;
  if (stalled_ || closing_) {  // Not reported if OnClosed has been made: the caller knows then.
    queued_.push_back(std::move(queued));
  } else if (message.leaves_unreported && IsEager(queued)) {
    Write(queued);
    DeliverToPeer(queued.send_id, std::move(queued.message));
    return kLeft;
  } else {
    Transmit(std::move(queued));
  }
  return last_send_id_;
}

bool MemoryConnection::IsEager(const Queued& queued) const {
  const size_t source_bytes = queued.payload == nullptr ? 0 : queued.payload->size();
  return queued.message.header.size() + source_bytes + queued.attachment.size() <= options_.eager_bytes_max;
}

void MemoryConnection::Write(Queued& queued) {
  std::string& body = queued.message.body;
  if (queued.payload != nullptr) {
    body.resize(queued.payload->size());
    queued.payload->WriteTo(reinterpret_cast<std::byte*>(body.data()));
  }
  body += std::string(queued.attachment);
}

void MemoryConnection::DeliverToPeer(uint64_t send_id, Message message) {
  PostToPeer([send_id, message = std::move(message)](MemoryConnection& peer) { peer.Deliver(send_id, message); });
}

void MemoryConnection::Transmit(Queued queued) {
  const bool eager = IsEager(queued);
  if (!eager && hold_exports_) {
    exporting_.push_back(std::move(queued));
    return;
  }
  Write(queued);
  if (queued.payload != nullptr) {
    PostToSelf([send_id = queued.send_id, source = queued.payload](MemoryConnection& self) {
      if (self.unreported_.contains(send_id)) source->OnWritten();
    });
  }
  Message& message = queued.message;
  const uint64_t send_id = queued.send_id;
  const Message head{message.kind, message.call_id, message.header, "", message.tag};
  unreported_.emplace(send_id, head);
  if (eager) return DeliverToPeer(send_id, std::move(message));
  const size_t payload_bytes = message.body.size();
  announced_.emplace(send_id, std::move(message));
  PostToPeer(
      [send_id, head, payload_bytes](MemoryConnection& peer) { peer.OnAnnouncement(send_id, head, payload_bytes); });
}

void MemoryConnection::Unstall() {
  stalled_ = false;
  std::deque<Queued> queued = std::exchange(queued_, {});
  for (Queued& one : queued) Transmit(std::move(one));
}

void MemoryConnection::ReleaseExports() {
  hold_exports_ = false;
  std::deque<Queued> exporting = std::exchange(exporting_, {});
  for (Queued& one : exporting) Transmit(std::move(one));
}

void MemoryConnection::FailExports() {
  for (Queued& one : std::exchange(exporting_, {})) {
    unreported_.emplace(one.send_id, std::move(one.message));
    ReportLater(one.send_id, SendOutcome::kNoMemory);
  }
}

void MemoryConnection::Report(uint64_t send_id, SendOutcome outcome) {
  if (hold_reports_) return;
  const auto sent = unreported_.extract(send_id);
  if (closed_ || sent.empty()) return;
  announced_.erase(send_id);
  being_fetched_.erase(send_id);
  Tell(send_id, sent.mapped(), outcome);
  DrainIfFinished();
}

void MemoryConnection::Tell(uint64_t send_id, const Message& message, SendOutcome outcome) {
  if (handler_ != nullptr) handler_->OnSent({send_id, message.kind, message.tag}, outcome);
}

void MemoryConnection::ReportLater(uint64_t send_id, SendOutcome outcome) {
  PostToSelf([send_id, outcome](MemoryConnection& self) { self.Report(send_id, outcome); });
}

void MemoryConnection::CancelSend(uint64_t send_id) {
  for (std::deque<Queued>* waiting : {&queued_, &exporting_}) {
    const auto it = std::find_if(waiting->begin(), waiting->end(),
                                 [send_id](const Queued& queued) { return queued.send_id == send_id; });
    if (it == waiting->end()) continue;
    unreported_.emplace(send_id, std::move(it->message));
    waiting->erase(it);
    return ReportLater(send_id, SendOutcome::kNotSent);
  }
  if (announced_.erase(send_id) + being_fetched_.erase(send_id) == 0) return;
  PostToPeer([send_id](MemoryConnection& peer) { peer.OnWithdrawn(send_id); });
  ReportLater(send_id, SendOutcome::kUnknown);
}

transport::MessageHead MemoryConnection::HeadOf(const Message& message) const {
  return {message.kind, message.call_id,
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(message.header.data()), message.header.size()),
          message.body.size(), message.fetch_id};
}

void MemoryConnection::Deliver(uint64_t send_id, const Message& message) {
  if (closed_ || handler_ == nullptr) return;
  PostToPeer([send_id](MemoryConnection& peer) { peer.Report(send_id, SendOutcome::kDelivered); });
  StringPayload payload(message.body);
  handler_->OnMessage(HeadOf(message), payload);
}

void MemoryConnection::OnAnnouncement(uint64_t send_id, Message head, size_t payload_bytes) {
  if (closed_ || handler_ == nullptr) return;
  head.fetch_id = send_id;
  transport::MessageHead announced = HeadOf(head);
  announced.payload_bytes = payload_bytes;
  const transport::Verdict verdict = handler_->OnAnnounced(announced);
  if (verdict == transport::Verdict::kRefuse) {
    PostToPeer([send_id](MemoryConnection& peer) { peer.Report(send_id, SendOutcome::kRefused); });
    return;
  }
  if (verdict == transport::Verdict::kFetchInParts) in_parts_.insert(send_id);
  fetching_.emplace(send_id, std::move(head));
  if (!hold_fetches_) PostToPeer([send_id](MemoryConnection& peer) { peer.OnFetchRequested(send_id); });
}

void MemoryConnection::ReleaseFetches() {
  hold_fetches_ = false;
  for (const auto& [send_id, head] : fetching_) {
    PostToPeer([send_id = send_id](MemoryConnection& peer) { peer.OnFetchRequested(send_id); });
  }
}

void MemoryConnection::OnFetchRequested(uint64_t send_id) {
  const auto announced = announced_.find(send_id);
  if (announced == announced_.end()) return;
  PostToPeer(
      [send_id, message = std::move(announced->second)](MemoryConnection& peer) { peer.OnFetched(send_id, message); });
  announced_.erase(announced);
  being_fetched_.insert(send_id);
}

void MemoryConnection::OnFetched(uint64_t send_id, const Message& message) {
  if (in_parts_.contains(send_id)) return DeliverInParts(send_id, message);
  const auto fetched = fetching_.extract(send_id);
  if (fetched.empty()) return;
  Message whole = message;
  whole.fetch_id = send_id;
  Deliver(send_id, whole);
}

void MemoryConnection::DeliverInParts(uint64_t send_id, Message message) {
  const auto fetching = fetching_.find(send_id);
  if (closed_ || handler_ == nullptr || fetching == fetching_.end()) return;
  message.fetch_id = send_id;
  fetching->second = message;
  StringPayload half(absl::string_view(message.body).substr(0, message.body.size() / 2));
  handler_->OnPart(HeadOf(message), half);
  if (!hold_last_parts_) PostToSelf([send_id](MemoryConnection& self) { self.DeliverLastPart(send_id); });
}

void MemoryConnection::ReleaseLastParts() {
  hold_last_parts_ = false;
  for (const uint64_t send_id : in_parts_) {
    if (fetching_[send_id].body.empty()) continue;  // Nothing of it has come.
    PostToSelf([send_id](MemoryConnection& self) { self.DeliverLastPart(send_id); });
  }
}

void MemoryConnection::FailParts(const absl::Status& status) {
  const std::set<uint64_t> failing = std::exchange(in_parts_, {});
  for (const uint64_t send_id : failing) {
    PostToPeer([send_id](MemoryConnection& peer) { peer.Report(send_id, SendOutcome::kUnknown); });
    FailFetch(send_id, status);
  }
}

void MemoryConnection::FailFetch(uint64_t send_id, const absl::Status& status) {
  const auto failed = fetching_.extract(send_id);
  if (!failed.empty() && handler_ != nullptr) handler_->OnFetchFailed(HeadOf(failed.mapped()), status);
}

void MemoryConnection::DeliverLastPart(uint64_t send_id) {
  const auto fetched = fetching_.extract(send_id);
  if (fetched.empty() || closed_ || handler_ == nullptr) return;
  in_parts_.erase(send_id);
  PostToPeer([send_id](MemoryConnection& peer) { peer.Report(send_id, SendOutcome::kDelivered); });
  const Message& message = fetched.mapped();
  StringPayload whole(message.body);
  handler_->OnPart(HeadOf(message), whole);
}

void MemoryConnection::OnWithdrawn(uint64_t send_id) {
  if (closed_) return;
  in_parts_.erase(send_id);
  FailFetch(send_id, absl::CancelledError("the sender withdrew it"));
}

void MemoryConnection::CancelFetch(uint64_t call_id) {
  for (auto next = fetching_.begin(); next != fetching_.end();) {
    const auto fetching = next++;
    if (fetching->second.call_id != call_id) continue;
    const bool shown = !fetching->second.body.empty();  // Of one that comes in parts: they were acted upon.
    const SendOutcome outcome = shown ? SendOutcome::kDelivered : SendOutcome::kRefused;
    PostToPeer([send_id = fetching->first, outcome](MemoryConnection& peer) { peer.Report(send_id, outcome); });
    PostToSelf([head = std::move(fetching->second)](MemoryConnection& self) {
      if (!self.closed_) self.handler_->OnFetchFailed(self.HeadOf(head), absl::CancelledError("fetch cancelled"));
    });
    in_parts_.erase(fetching->first);
    fetching_.erase(fetching);
  }
}

void MemoryConnection::Drain() {
  draining_ = true;
  PostToPeer([](MemoryConnection& peer) {
    if (!peer.closed_ && peer.handler_ != nullptr) peer.handler_->OnPeerDraining();
  });
  DrainIfFinished();
}

void MemoryConnection::DrainIfFinished() {
  if (!draining_ || !unreported_.empty() || !queued_.empty() || !exporting_.empty() || closing_) return;
  PostToPeer([](MemoryConnection& peer) { peer.CloseLater(absl::OkStatus()); });
  CloseLater(absl::OkStatus());
}

void MemoryConnection::Abort(absl::Status status) {
  PostToPeer([](MemoryConnection& peer) { peer.CloseLater(absl::UnavailableError("the peer closed the connection")); });
  CloseLater(std::move(status));
}

void MemoryConnection::Sever() {
  PostToPeer([](MemoryConnection& peer) { peer.CloseLater(absl::UnavailableError("the link broke")); });
  CloseLater(absl::UnavailableError("the link broke"));
}

void MemoryConnection::CloseLater(absl::Status status) {
  if (std::exchange(closing_, true)) return;
  PostToSelf([status = std::move(status)](MemoryConnection& self) mutable { self.Close(std::move(status)); });
}

void MemoryConnection::Close(absl::Status status) {
  announced_.clear();
  being_fetched_.clear();
  in_parts_.clear();
  while (!fetching_.empty()) FailFetch(fetching_.begin()->first, status);
  for (Queued& one : std::exchange(exporting_, {})) queued_.push_back(std::move(one));
  // Until none is left: a call-back may send, in vain.
  while (handler_ != nullptr && (!unreported_.empty() || !queued_.empty())) {
    const auto unreported = std::exchange(unreported_, {});
    const auto queued = std::exchange(queued_, {});
    for (const auto& [send_id, head] : unreported) Tell(send_id, head, SendOutcome::kUnknown);
    for (const Queued& one : queued) Tell(one.send_id, one.message, SendOutcome::kNotSent);
  }
  closed_ = true;
  if (handler_ != nullptr) handler_->OnClosed(status);  // May destroy this.
}

}  // namespace verbena::testing
