#include "transport/soft/fake_engine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/stream/stream_link.h"

namespace verbena::soft {
namespace {

struct Fake {
  std::mutex mu;
  std::map<uint32_t, FakeQueuePair> queue_pairs;
  uint32_t last_number = 0;
  bool fail_accept = false;
  bool fail_complete = false;
  std::atomic<int> objects{0};

  ibv_context context = {};
  ibv_pd domain = {};
  ibv_comp_channel channel = {};
  ibv_cq queue = {};
};

Fake& TheFake() {
  static Fake* const fake = new Fake;
  return *fake;
}

uint32_t OwnNumber(uint32_t index) { return static_cast<uint32_t>(getpid()) << 12 | index; }

absl::StatusOr<LinkOffer> OfferOf(uint32_t number) {
  UniqueFd memory(memfd_create("fake-offer", MFD_CLOEXEC));
  if (write(memory.get(), &number, sizeof(number)) != sizeof(number)) return absl::InternalError("memfd");
  LinkOffer offer;
  offer.bytes.resize(sizeof(number));
  memcpy(offer.bytes.data(), &number, sizeof(number));
  offer.fds.push_back(std::move(memory));
  return offer;
}

absl::StatusOr<uint32_t> NumberIn(const LinkOffer& offer) {
  uint32_t in_bytes = 0;
  uint32_t in_memory = 0;
  if (offer.bytes.size() != sizeof(in_bytes) || offer.fds.size() != 1) return absl::InvalidArgumentError("fake offer");
  memcpy(&in_bytes, offer.bytes.data(), sizeof(in_bytes));
  if (pread(offer.fds[0].get(), &in_memory, sizeof(in_memory), 0) != sizeof(in_memory) || in_bytes != in_memory) {
    return absl::InvalidArgumentError("fake offer: its descriptor is another's");
  }
  return in_bytes;
}

}  // namespace

FakeQueuePair FakeQueuePairOf(uint32_t number) {
  Fake& fake = TheFake();
  std::lock_guard<std::mutex> lock(fake.mu);
  return fake.queue_pairs[number];
}

void DestroyFakeQueuePair(ibv_qp* queue_pair) { DestroyQueuePair(queue_pair); }

int FakeObjects() { return TheFake().objects.load(); }

ibv_pd* FakeDomain() {
  Fake& fake = TheFake();
  fake.domain.context = &fake.context;
  return &fake.domain;
}

ibv_qp_init_attr FakeQueuePairAttributes() {
  Fake& fake = TheFake();
  ibv_qp_init_attr attributes = {};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = attributes.recv_cq = &fake.queue;
  return attributes;
}

void FailNextAcceptOffer() {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  TheFake().fail_accept = true;
}

void FailNextCompleteOffer() {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  TheFake().fail_complete = true;
}

// device.h

ibv_context* SoftContext() { return &TheFake().context; }

int CreateQueuePair(ibv_pd* domain, ibv_qp_init_attr* attributes, ibv_qp** queue_pair) {
  Fake& fake = TheFake();
  std::lock_guard<std::mutex> lock(fake.mu);
  auto* made = new ibv_qp{};
  made->pd = domain;
  made->srq = attributes->srq;
  made->qp_num = OwnNumber(++fake.last_number);
  *queue_pair = made;
  return 0;
}

int DestroyQueuePair(ibv_qp* queue_pair) {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  TheFake().queue_pairs[queue_pair->qp_num].destroyed = true;
  delete queue_pair;
  return 0;
}

int ModifyQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  if ((mask & IBV_QP_STATE) != 0 && attributes->qp_state == IBV_QPS_ERR) {
    ++TheFake().queue_pairs[queue_pair->qp_num].error_count;
  }
  return 0;
}

// It never fails.
void OnDeviceFatal(void (*)()) {}

// control_path.h: objects that are only made and destroyed.

int QueryDevice(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->max_qp_rd_atom = kFakeDepthMax;
  attributes->max_qp_init_rd_atom = kFakeDepthMax;
  return 0;
}

ibv_pd* AllocProtectionDomain(ibv_context* context) { return FakeDomain(); }

ibv_comp_channel* CreateCompletionChannel(ibv_context* context) {
  ++TheFake().objects;
  return new ibv_comp_channel{context, -1, 0};
}

int DestroyCompletionChannel(ibv_comp_channel* channel) {
  --TheFake().objects;
  delete channel;
  return 0;
}

ibv_cq* CreateCompletionQueue(ibv_context* context, int entries, void* user_context, ibv_comp_channel* channel,
                              int vector) {
  ++TheFake().objects;
  auto* made = new ibv_cq{};
  made->channel = channel;
  made->cq_context = user_context;
  made->cqe = entries;
  return made;
}

int DestroyCompletionQueue(ibv_cq* queue) {
  --TheFake().objects;
  delete queue;
  return 0;
}

ibv_srq* CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr* attributes) {
  ++TheFake().objects;
  auto* made = new ibv_srq{};
  made->pd = domain;
  return made;
}

int DestroySharedReceiveQueue(ibv_srq* queue) {
  --TheFake().objects;
  delete queue;
  return 0;
}

// link.h

void AbandonOffer(ibv_qp* qp) {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  TheFake().queue_pairs[qp->qp_num].offered = false;
}

absl::StatusOr<LinkOffer> MakeOffer(ibv_qp* qp, const LinkParameters& parameters) {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  FakeQueuePair& offering = TheFake().queue_pairs[qp->qp_num];
  if (std::exchange(offering.offered, true)) return absl::FailedPreconditionError("it has made an offer");
  offering.parameters = parameters;
  return OfferOf(qp->qp_num);
}

absl::StatusOr<LinkOffer> AcceptOffer(ibv_qp* qp, LinkOffer peer_offer, const ucred& peer,
                                      const LinkParameters& parameters) {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  if (std::exchange(TheFake().fail_accept, false)) return absl::ResourceExhaustedError("as the test wants");
  absl::StatusOr<uint32_t> number = NumberIn(peer_offer);
  if (!number.ok()) return number.status();
  FakeQueuePair& own = TheFake().queue_pairs[qp->qp_num];
  own.peer_number = *number;
  own.peer_pid = peer.pid;
  own.parameters = parameters;
  return OfferOf(qp->qp_num);
}

absl::Status CompleteOffer(ibv_qp* qp, LinkOffer peer_answer, const ucred& peer) {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  if (std::exchange(TheFake().fail_complete, false)) return absl::ResourceExhaustedError("as the test wants");
  absl::StatusOr<uint32_t> number = NumberIn(peer_answer);
  if (!number.ok()) return number.status();
  FakeQueuePair& own = TheFake().queue_pairs[qp->qp_num];
  own.peer_number = *number;
  own.peer_pid = peer.pid;
  return absl::OkStatus();
}

void OnPeerGone(ibv_qp* qp) {
  std::lock_guard<std::mutex> lock(TheFake().mu);
  ++TheFake().queue_pairs[qp->qp_num].peer_gone_count;
}

// stream_link.h: by TCP fake queue pairs are offered, and no more.

absl::StatusOr<LinkOffer> MakeStreamOffer(ibv_qp* qp, const LinkParameters& parameters) {
  return MakeOffer(qp, parameters);
}

absl::StatusOr<LinkOffer> AcceptStreamOffer(ibv_qp*, const LinkOffer&, std::shared_ptr<Stream>, const LinkParameters&) {
  return absl::UnimplementedError("no streams");
}

absl::Status CompleteStreamOffer(ibv_qp*, const LinkOffer&, std::shared_ptr<Stream>) {
  return absl::UnimplementedError("no streams");
}

}  // namespace verbena::soft
