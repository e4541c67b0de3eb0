#include "tests/hostile/hostile_device.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "transport/soft/soft_api.h"

namespace verbena::hostile {
namespace {

constexpr int kCmPatienceMs = 10000;
constexpr size_t kReceiveArea = HostileDevice::kLandingBytes;
constexpr size_t kSendArea = kReceiveArea + HostileDevice::kReceives * HostileDevice::kFrameBytes;
constexpr size_t kPrivateBytes = kSendArea + HostileDevice::kSendSlots * HostileDevice::kSendBytesMax;
constexpr uint32_t kSendsMax = HostileDevice::kSendSlots + 1;

absl::StatusOr<sockaddr_in> ParseAddress(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "soft://")) return absl::InvalidArgumentError(text);
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  uint32_t port = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &port) ||
      inet_pton(AF_INET, parts[0].c_str(), &address.sin_addr) != 1) {
    return absl::InvalidArgumentError(text);
  }
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

absl::StatusOr<verbs::CmEvent> NextEvent(verbs::CmEventChannel& channel) {
  for (;;) {
    absl::StatusOr<std::optional<verbs::CmEvent>> event = channel.NextEvent();
    if (!event.ok()) return event.status();
    if (event->has_value()) return **std::move(event);
    pollfd readable = {.fd = channel.fd(), .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, kCmPatienceMs) == 0) return absl::DeadlineExceededError("no connection-manager event");
  }
}

namespace {

absl::Status Resolve(verbs::CmEventChannel& channel, verbs::ConnectionId& id, const sockaddr_in& address) {
  const absl::Duration timeout = absl::Milliseconds(kCmPatienceMs);
  absl::Status status = id.ResolveAddress(nullptr, reinterpret_cast<const sockaddr*>(&address), timeout);
  if (status.ok()) status = NextEvent(channel).status();
  if (status.ok()) status = id.ResolveRoute(timeout);
  if (status.ok()) status = NextEvent(channel).status();
  return status;
}

}  // namespace

struct HostileDevice::Parts {
  std::unique_ptr<std::vector<std::byte>> shared_bytes;
  std::unique_ptr<std::vector<std::byte>> private_bytes;
  verbs::CmEventChannel channel;
  verbs::ConnectionId id;
  verbs::Device device;
  verbs::ProtectionDomain domain;
  verbs::CompletionQueue queue;
  verbs::MemoryRegion shared;
  verbs::MemoryRegion own;
  verbs::QueuePair queue_pair;
};

absl::StatusOr<std::unique_ptr<HostileDevice>> HostileDevice::Open(const std::string& address, uint32_t receives) {
  const absl::StatusOr<sockaddr_in> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(soft::SoftApi());
  if (!channel.ok()) return channel.status();
  absl::StatusOr<verbs::ConnectionId> id = verbs::ConnectionId::Create(*channel);
  if (!id.ok()) return id.status();
  if (absl::Status status = Resolve(*channel, *id, *parsed); !status.ok()) return status;
  return Make(*std::move(channel), *std::move(id), receives);
}

absl::StatusOr<std::unique_ptr<HostileDevice>> HostileDevice::Make(verbs::CmEventChannel channel,
                                                                   verbs::ConnectionId id, uint32_t receives) {
  absl::StatusOr<verbs::Device> device = verbs::Device::Borrow(id.api(), id.device_context());
  if (!device.ok()) return device.status();
  absl::StatusOr<verbs::ProtectionDomain> domain = verbs::ProtectionDomain::Create(*device);
  if (!domain.ok()) return domain.status();
  absl::StatusOr<verbs::CompletionQueue> queue =
      verbs::CompletionQueue::Create(*device, static_cast<int>(kSendsMax + kReceives), nullptr, 0);
  if (!queue.ok()) return queue.status();
  auto shared_bytes = std::make_unique<std::vector<std::byte>>(kSharedBytes, std::byte{0x5a});
  auto private_bytes = std::make_unique<std::vector<std::byte>>(kPrivateBytes);
  absl::StatusOr<verbs::MemoryRegion> shared =
      verbs::MemoryRegion::Register(*domain, absl::MakeSpan(*shared_bytes), IBV_ACCESS_REMOTE_READ);
  if (!shared.ok()) return shared.status();
  // Its own READs land here, which iWARP devices take for the peer's writes.
  absl::StatusOr<verbs::MemoryRegion> own = verbs::MemoryRegion::Register(
      *domain, absl::MakeSpan(*private_bytes), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (!own.ok()) return own.status();
  absl::StatusOr<verbs::QueuePair> queue_pair = verbs::QueuePair::Create(id, *domain,
                                                                         {.send_completions = &*queue,
                                                                          .receive_completions = &*queue,
                                                                          .sends_max = kSendsMax,
                                                                          .receives_max = kReceives,
                                                                          .signal_all_sends = true});
  if (!queue_pair.ok()) return queue_pair.status();
  std::unique_ptr<HostileDevice> made(new HostileDevice(
      {std::move(shared_bytes), std::move(private_bytes), std::move(channel), std::move(id), *std::move(device),
       *std::move(domain), *std::move(queue), *std::move(shared), *std::move(own), *std::move(queue_pair)},
      receives));
  return made;
}

HostileDevice::HostileDevice(Parts parts, uint32_t receives)
    : shared_bytes_(std::move(parts.shared_bytes)),
      private_bytes_(std::move(parts.private_bytes)),
      channel_(std::move(parts.channel)),
      id_(std::move(parts.id)),
      device_(std::move(parts.device)),
      domain_(std::move(parts.domain)),
      queue_(std::move(parts.queue)),
      shared_(std::move(parts.shared)),
      private_(std::move(parts.own)),
      queue_pair_(std::move(parts.queue_pair)) {
  for (uint32_t i = 0; i < receives; ++i) PostReceive(i);
  for (uint32_t i = 0; i < kSendSlots; ++i) free_slots_.push_back(i);
}

HostileDevice::~HostileDevice() {
  Disconnect();
  queue_pair_.ModifyToError().IgnoreError();
}

absl::StatusOr<verbs::CmEvent> HostileDevice::NextCmEvent() { return NextEvent(channel_); }

HostileDevice::Looked HostileDevice::Look() {
  Looked looked;
  ibv_wc completion;
  const int count = queue_.Poll(absl::MakeSpan(&completion, 1));
  if (count == 1) {
    Release(completion.wr_id);
    looked.completion = completion;
    return looked;
  }
  const absl::StatusOr<std::optional<verbs::CmEvent>> event = channel_.NextEvent();
  looked.ended = count < 0 || !event.ok() || (event->has_value() && !(*event)->Failure().ok());
  return looked;
}

void HostileDevice::Release(uint64_t work_request_id) {
  if (work_request_id < kReceives || work_request_id == kOneSided) return;
  free_slots_.push_back(static_cast<uint32_t>(work_request_id - kReceives));
}

void HostileDevice::PostReceive(uint32_t index) {
  ibv_sge area = {.addr = reinterpret_cast<uint64_t>(private_bytes_->data()) + kReceiveArea + index * kFrameBytes,
                  .length = kFrameBytes,
                  .lkey = private_.lkey()};
  ibv_recv_wr request = {};
  request.wr_id = index;
  request.sg_list = &area;
  request.num_sge = 1;
  ibv_recv_wr* unposted = nullptr;
  queue_pair_.PostReceives(&request, &unposted).IgnoreError();  // The queue pair may be in error.
}

absl::Span<const std::byte> HostileDevice::received(const ibv_wc& completion) const {
  return absl::MakeConstSpan(*private_bytes_)
      .subspan(kReceiveArea + completion.wr_id * kFrameBytes, completion.byte_len);
}

ibv_send_wr HostileDevice::SendOf(absl::Span<const std::byte> bytes, ibv_sge* area) {
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  std::byte* const from = private_bytes_->data() + kSendArea + slot * kSendBytesMax;
  std::copy(bytes.begin(), bytes.end(), from);
  *area = {
      .addr = reinterpret_cast<uint64_t>(from), .length = static_cast<uint32_t>(bytes.size()), .lkey = private_.lkey()};
  ibv_send_wr request = {};
  request.wr_id = kReceives + slot;
  request.sg_list = area;
  request.num_sge = bytes.empty() ? 0 : 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  return request;
}

bool HostileDevice::PostSend(absl::Span<const std::byte> bytes, ibv_wr_opcode opcode, uint32_t invalidate_key) {
  if (free_slots_.empty()) return false;
  ibv_sge area;
  ibv_send_wr request = SendOf(bytes, &area);
  request.opcode = opcode;
  if (opcode == IBV_WR_SEND_WITH_INV) request.invalidate_rkey = invalidate_key;
  ibv_send_wr* unposted = nullptr;
  queue_pair_.PostSends(&request, &unposted).IgnoreError();  // The queue pair may be in error.
  return true;
}

bool HostileDevice::PostTogether(absl::Span<const std::byte> first, absl::Span<const std::byte> second) {
  if (free_slots_.size() < 2) return false;
  ibv_sge areas[2];
  ibv_send_wr requests[] = {SendOf(first, &areas[0]), SendOf(second, &areas[1])};
  requests[0].next = &requests[1];
  ibv_send_wr* unposted = nullptr;
  queue_pair_.PostSends(requests, &unposted).IgnoreError();
  return true;
}

void HostileDevice::PostOneSided(ibv_wr_opcode opcode, uint64_t address, uint32_t key, uint32_t length) {
  ibv_sge area = {
      .addr = reinterpret_cast<uint64_t>(private_bytes_->data()), .length = length, .lkey = private_.lkey()};
  ibv_send_wr request = {};
  request.wr_id = kOneSided;
  request.sg_list = &area;
  request.num_sge = 1;
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = address;
  request.wr.rdma.rkey = key;
  ibv_send_wr* unposted = nullptr;
  queue_pair_.PostSends(&request, &unposted).IgnoreError();
}

}  // namespace verbena::hostile
