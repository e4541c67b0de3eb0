#include "transport/counters.h"

#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

struct Registry {
  std::mutex mu;
  absl::flat_hash_set<const CounterBlock*> blocks ABSL_GUARDED_BY(mu);
  TransportCounters retired ABSL_GUARDED_BY(mu);  // Totals of blocks that are gone.
};

// Never destroyed: loops may outlive main's statics.
Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

std::atomic<int64_t> pinned_bytes = 0;
std::atomic<int64_t> huge_page_bytes = 0;
std::atomic<uint64_t> registrations = 0;

void AddTotals(const CounterBlock& block, TransportCounters* sum) {
  sum->frames_sent += block.frames_sent.value();
  sum->frames_packed += block.frames_packed.value();
  sum->frames_received += block.frames_received.value();
  sum->sends_unsignaled += block.sends_unsignaled.value();
  sum->doorbells += block.doorbells.value();
  sum->completion_events += block.completion_events.value();
  sum->reads += block.reads.value();
  sum->fetches_queued += block.fetches_queued.value();
  sum->payload_bytes_serialized += block.payload_bytes_serialized.value();
  sum->payload_bytes_copied += block.payload_bytes_copied.value();
  sum->protocol_errors += block.protocol_errors.value();
}

void AddPresent(const CounterBlock& block, TransportCounters* sum) {
  sum->connections += block.connections.value();
  sum->receive_buffers += block.receive_buffers.value();
  sum->receives_posted += block.receives_posted.value();
  sum->credits_granted += block.credits_granted.value();
  sum->landing_bytes += block.landing_bytes.value();
  sum->exported_bytes += block.exported_bytes.value();
  sum->sends_queued += block.sends_queued.value();
}

}  // namespace

CounterBlock::CounterBlock() {
  Registry& registry = GetRegistry();
  const std::lock_guard lock(registry.mu);
  registry.blocks.insert(this);
}

CounterBlock::~CounterBlock() {
  Registry& registry = GetRegistry();
  const std::lock_guard lock(registry.mu);
  AddTotals(*this, &registry.retired);
  registry.blocks.erase(this);
}

void AddPinnedBytes(int64_t bytes) { pinned_bytes.fetch_add(bytes, std::memory_order_relaxed); }

void AddHugePageBytes(int64_t bytes) { huge_page_bytes.fetch_add(bytes, std::memory_order_relaxed); }

void CountRegistration() { registrations.fetch_add(1, std::memory_order_relaxed); }

TransportCounters ReadTransportCounters() {
  Registry& registry = GetRegistry();
  const std::lock_guard lock(registry.mu);
  TransportCounters sum = registry.retired;
  for (const CounterBlock* block : registry.blocks) {
    AddTotals(*block, &sum);
    AddPresent(*block, &sum);
  }
  sum.pinned_bytes = static_cast<uint64_t>(pinned_bytes.load(std::memory_order_relaxed));
  sum.huge_page_bytes = static_cast<uint64_t>(huge_page_bytes.load(std::memory_order_relaxed));
  sum.registrations = registrations.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace verbena::transport
