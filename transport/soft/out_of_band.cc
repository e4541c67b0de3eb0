#include "transport/soft/out_of_band.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/soft/control_io/descriptor_table.h"
#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/control_io/unix_socket.h"
#include "transport/soft/out_of_band_message.h"

namespace verbena::soft {
namespace {

// A number has 24 bits, as on a NIC: programs print and exchange it in six digits.
constexpr int kIndexBits = 14;
constexpr uint32_t kSlots = 1u << (24 - kIndexBits);
static_assert(kQueuePairsMax == 1u << kIndexBits);

// How long a peer that has no room for another connection is left alone.
constexpr std::chrono::milliseconds kCrowdPause(10);

// With no descriptors left there is no use in trying again at once.
constexpr std::chrono::milliseconds kAcceptPause(50);

std::string SlotName(uint32_t slot) { return absl::StrCat("verbena-soft-qp/", slot); }

ucred OurCredentials() { return {.pid = getpid(), .uid = geteuid(), .gid = getegid()}; }

// Both ends are here: the link is made in one go.
absl::Status LinkBoth(QueuePair& offering, QueuePair& answering) {
  absl::StatusOr<LinkOffer> offer = MakeOffer(&offering, offering.link_parameters());
  if (!offer.ok()) return offer.status();
  absl::StatusOr<LinkOffer> answer =
      AcceptOffer(&answering, *std::move(offer), OurCredentials(), answering.link_parameters());
  if (!answer.ok()) return answer.status();
  return CompleteOffer(&offering, *std::move(answer), OurCredentials());
}

}  // namespace

// Slot 0 is left out: numbers 0 and 1 are never ordinary queue pairs'.
int TakeProcessSlot(ProcessSlot* slot) {
  auto start = static_cast<uint32_t>(getpid());
  for (uint32_t i = 0; i < kSlots - 1; ++i) {
    uint32_t number = (start + i) % (kSlots - 1) + 1;
    UniqueFd socket;
    int error = BindName(SlotName(number), &socket);
    if (error == EADDRINUSE) continue;
    if (error == 0) error = ListenForPeers(socket.get());
    if (error == 0) *slot = {.number = number, .socket = std::move(socket)};
    return error;
  }
  return EADDRINUSE;
}

uint32_t OutOfBand::NumberOf(uint32_t index) const { return slot_.number << kIndexBits | index; }

bool OutOfBand::IsOurs(uint32_t number) const { return number >> kIndexBits == slot_.number; }

void OutOfBand::OnModified(QueuePair& queue_pair) {
  if (IsForkedChild()) return;
  std::optional<uint32_t> peer = queue_pair.unlinked_peer_number();
  if (!peer.has_value()) return;
  std::lock_guard lock(mu_);
  auto [entry, fresh] = seekers_.insert({queue_pair.qp_num, {.queue_pair = &queue_pair, .peer = *peer}});
  if (!fresh) return;
  Seeker& seeker = entry->second;
  if (IsOurs(*peer)) return LinkWithin(seeker);
  if (StartThread() != 0) return;
  if (queue_pair.qp_num < *peer) {
    MakeOfferTo(queue_pair.qp_num, seeker);
  } else {
    AnswerWaitingOffer(queue_pair.qp_num, seeker);
  }
}

void OutOfBand::Forget(QueuePair& queue_pair) {
  if (IsForkedChild()) return;
  std::lock_guard lock(mu_);
  auto entry = seekers_.find(queue_pair.qp_num);
  if (entry == seekers_.end()) return;
  uint64_t key = entry->second.socket_key;
  crowded_out_.erase(entry->first);
  seekers_.erase(entry);
  if (key != 0) CloseSocket(key);
}

int OutOfBand::StartThread() {
  if (started_) return 0;
  int error = thread_.Start();
  if (error == 0) error = thread_.Watch(slot_.socket.get(), kSlotKey);
  started_ = error == 0;
  return error;
}

// Of two that name each other only the second finds the first.
void OutOfBand::LinkWithin(Seeker& seeker) {
  auto peer = seekers_.find(seeker.peer);
  uint32_t number = seeker.queue_pair->qp_num;
  if (peer == seekers_.end() || peer->second.peer != number) return;
  if (seeker.peer == number) {
    LinkWithItself(seeker.queue_pair, seeker.queue_pair->link_parameters()).IgnoreError();
  } else {
    LinkBoth(*seeker.queue_pair, *peer->second.queue_pair).IgnoreError();
  }
}

void OutOfBand::MakeOfferTo(uint32_t number, Seeker& seeker) {
  PeerSocket socket = {.fd = UniqueFd(), .peer = {}, .queue_pair = number, .waiting = std::nullopt};
  int error = ConnectToName(SlotName(seeker.peer >> kIndexBits), &socket.fd, &socket.peer);
  if (error == EAGAIN) {
    crowded_out_.insert(number);
    return thread_.Wake();
  }
  if (error != 0) return;
  absl::StatusOr<LinkOffer> offer = MakeOffer(seeker.queue_pair, seeker.queue_pair->link_parameters());
  if (!offer.ok()) return;
  if (SendOffer(socket.fd.get(), OfferKind::kOffer, number, seeker.peer, *offer) == 0) {
    seeker.socket_key = AddSocket(std::move(socket));
  }
}

void OutOfBand::AnswerWaitingOffer(uint32_t number, Seeker& seeker) {
  for (auto& [key, socket] : sockets_) {
    if (!socket.waiting.has_value() || socket.waiting->to != number || socket.waiting->from != seeker.peer) continue;
    LinkOffer offer = std::move(socket.waiting->link);
    socket.waiting.reset();
    return Answer(key, seeker, std::move(offer));
  }
}

void OutOfBand::Answer(uint64_t key, Seeker& seeker, LinkOffer offer) {
  PeerSocket& socket = sockets_.at(key);
  QueuePair& queue_pair = *seeker.queue_pair;
  absl::StatusOr<LinkOffer> answer =
      AcceptOffer(&queue_pair, std::move(offer), socket.peer, queue_pair.link_parameters());
  if (!answer.ok() || SendOffer(socket.fd.get(), OfferKind::kAnswer, queue_pair.qp_num, seeker.peer, *answer) != 0) {
    return CloseSocket(key);
  }
  socket.queue_pair = queue_pair.qp_num;
  seeker.socket_key = key;
  unmatched_.erase(key);
}

void OutOfBand::OnReadable(uint64_t key) {
  std::lock_guard lock(mu_);
  key == kSlotKey ? AcceptPeers() : ReadSocket(key);
}

std::optional<OutOfBand::TimePoint> OutOfBand::OnTime(TimePoint now) {
  std::lock_guard lock(mu_);
  std::set<uint32_t> again = std::exchange(crowded_out_, {});
  for (uint32_t number : again) MakeOfferTo(number, seekers_.at(number));
  if (accept_pause_end_.has_value() && *accept_pause_end_ <= now) {
    accept_pause_end_.reset();
    thread_.Watch(slot_.socket.get(), kSlotKey);
  }
  if (crowded_out_.empty()) return accept_pause_end_;
  return std::min(now + kCrowdPause, accept_pause_end_.value_or(TimePoint::max()));
}

void OutOfBand::AcceptPeers() {
  for (int i = 0; i < kAcceptedPerTurnMax; ++i) {
    PeerSocket socket = {};
    int error = AcceptPeer(slot_.socket.get(), &socket.fd, &socket.peer);
    if (error == EACCES || error == EINTR || error == ECONNABORTED) continue;
    if (error == EAGAIN) return;
    if (error != 0) return PauseAccepting();
    if (unmatched_.size() == kUnmatchedSocketsMax) CloseSocket(*unmatched_.begin());
    if (uint64_t key = AddSocket(std::move(socket)); key != 0) unmatched_.insert(key);
  }
}

// Whoever waits at the socket keeps it readable.
void OutOfBand::PauseAccepting() {
  thread_.Unwatch(slot_.socket.get());
  accept_pause_end_ = std::chrono::steady_clock::now() + kAcceptPause;
}

uint64_t OutOfBand::AddSocket(PeerSocket socket) {
  uint64_t key = ++last_key_;
  if (thread_.Watch(socket.fd.get(), key) != 0) return 0;
  sockets_.emplace(key, std::move(socket));
  return key;
}

void OutOfBand::ReadSocket(uint64_t key) {
  auto entry = sockets_.find(key);
  if (entry == sockets_.end()) return;
  PeerSocket& socket = entry->second;
  OfferMessage message;
  Receipt receipt = ReceiveOffer(socket.fd.get(), &message);
  if (receipt == Receipt::kNothing) return;
  if (receipt != Receipt::kMessage) return CloseSocket(key);
  if (message.kind == OfferKind::kOffer) return OnOffer(key, {message.from, message.to, std::move(message.offer)});
  auto seeker = seekers_.find(socket.queue_pair);
  bool expected = seeker != seekers_.end() && seeker->first == message.to && seeker->second.peer == message.from;
  if (!expected || !CompleteOffer(seeker->second.queue_pair, std::move(message.offer), socket.peer).ok()) {
    CloseSocket(key);
  }
}

// One offer for a socket, and only one that its queue pair would not make itself.
void OutOfBand::OnOffer(uint64_t key, Offer offer) {
  PeerSocket& socket = sockets_.at(key);
  bool possible = IsOurs(offer.to) && offer.from < offer.to && socket.queue_pair == 0 && !socket.waiting.has_value();
  if (!possible) return CloseSocket(key);
  auto seeker = seekers_.find(offer.to);
  if (seeker != seekers_.end() && seeker->second.peer == offer.from && seeker->second.socket_key == 0) {
    return Answer(key, seeker->second, std::move(offer.link));
  }
  socket.waiting = std::move(offer);
}

void OutOfBand::CloseSocket(uint64_t key) {
  auto entry = sockets_.find(key);
  PeerSocket socket = std::move(entry->second);
  sockets_.erase(entry);
  thread_.Unwatch(socket.fd.get());
  if (socket.queue_pair == 0) {
    unmatched_.erase(key);
    return;
  }
  auto seeker = seekers_.find(socket.queue_pair);
  if (seeker == seekers_.end()) return;
  seeker->second.socket_key = 0;
  seeker->second.queue_pair->PeerVanished();
}

void OutOfBand::SurviveForks() {
  static OutOfBand* only;
  only = this;
  pthread_atfork([] { only->mu_.lock(); }, [] { only->mu_.unlock(); }, [] { only->AbandonSockets(); });
}

// Leaves the lock taken: nothing of this is used in the child any more.
void OutOfBand::AbandonSockets() {
  thread_.Abandon();
  sockets_.clear();
  slot_.socket.Reset();
}

}  // namespace verbena::soft
