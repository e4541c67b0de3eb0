// What the transport counts. One CounterBlock for each poll group, written by its loop alone, so that counting costs a
// plain store; the sum over all of them is ReadTransportCounters (endpoint.h).

#ifndef VERBENA_TRANSPORT_COUNTERS_H_
#define VERBENA_TRANSPORT_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace verbena::transport {

// A number with one writer and any number of readers.
class Counter {
 public:
  void Add(uint64_t amount) { Set(value() + amount); }
  void Subtract(uint64_t amount) { Set(value() - amount); }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_ = 0;
};

// Registers itself for ReadTransportCounters; when it is destroyed, its totals are kept and its present values are
// dropped.
struct CounterBlock {
  CounterBlock();
  ~CounterBlock();
  CounterBlock(const CounterBlock&) = delete;
  CounterBlock& operator=(const CounterBlock&) = delete;

  // Now.
  Counter connections;
  Counter receive_buffers;
  Counter receives_posted;
  Counter credits_granted;
  Counter landing_bytes;
  Counter exported_bytes;
  Counter sends_queued;

  // Totals.
  Counter frames_sent;
  Counter frames_packed;
  Counter frames_received;
  Counter sends_unsignaled;
  Counter doorbells;
  Counter completion_events;
  Counter reads;
  Counter fetches_queued;
  Counter payload_bytes_serialized;
  Counter payload_bytes_copied;
  Counter protocol_errors;
};

// Registered memory of the process, whoever registered it. Thread: any.
void AddPinnedBytes(int64_t bytes);
// Memory on huge pages that were set aside, whoever mapped it. Thread: any.
void AddHugePageBytes(int64_t bytes);
// Payload memory was registered. Thread: any.
void CountRegistration();

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_COUNTERS_H_
