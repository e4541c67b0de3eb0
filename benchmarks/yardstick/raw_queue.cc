#include "benchmarks/yardstick/raw_queue.h"

#include <utility>

namespace verbena::benchmarks {

absl::StatusOr<std::unique_ptr<RawQueue>> RawQueue::Create(const verbs::ConnectionId& id, transport::WaitPolicy wait,
                                                           uint32_t entries) {
  absl::StatusOr<verbs::Device> device = verbs::Device::Borrow(id.api(), id.device_context());
  if (!device.ok()) return device.status();
  absl::StatusOr<verbs::ProtectionDomain> domain = verbs::ProtectionDomain::Create(*device);
  if (!domain.ok()) return domain.status();
  absl::StatusOr<verbs::CompletionChannel> channel = verbs::CompletionChannel::Create(*device);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<verbs::CompletionQueue> queue =
      verbs::CompletionQueue::Create(*device, static_cast<int>(entries), &*channel, /*vector=*/0);
  if (!queue.ok()) return queue.status();
  std::unique_ptr<RawQueue> made(
      new RawQueue(*std::move(device), *std::move(domain), *std::move(channel), *std::move(queue), wait));
  if (absl::Status status = made->waiter_.Prepare(); !status.ok()) return status;
  return made;
}

RawQueue::RawQueue(verbs::Device device, verbs::ProtectionDomain domain, verbs::CompletionChannel channel,
                   verbs::CompletionQueue queue, transport::WaitPolicy wait)
    : device_(std::move(device)),
      domain_(std::move(domain)),
      channel_(std::move(channel)),
      queue_(std::move(queue)),
      waiter_(wait, channel_, queue_) {}

}  // namespace verbena::benchmarks
