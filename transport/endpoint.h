// Factories: listening for connections and making them. Control plane over the RDMA connection manager, on the device
// that the address and the options choose.
//
// Addresses: "rdma://host:port", "soft://host:port", "host:port" (auto: a server listens on RDMA where a device has the
// address and on soft, a client tries RDMA first and falls back to soft; without RDMA either says so in one log line).
// Port 0 = any free port. The host may be a name: a client tries all addresses that the system's resolver finds, by the
// first device and then by the next, while none has taken it twice handshake_timeout; a server listens on all that this
// machine has.

#ifndef VERBENA_TRANSPORT_ENDPOINT_H_
#define VERBENA_TRANSPORT_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "transport/authentication.h"
#include "transport/connection.h"
#include "transport/event_loop.h"

namespace verbena::transport {

// Limits and sizes of a transport; the defaults suit most. Each is checked when it is first used, with an error in
// words.
struct TransportOptions {
  std::string device = "";  // "auto", "soft" or a device's name. Empty: $VERBENA_DEVICE, else "auto".
  // One frame; the eager limit. A payload of 8 KiB, with half a KiB for its headers.
  uint32_t receive_buffer_bytes = 8192 + 512;
  uint32_t receive_buffers = 1024;  // In a loop's shared receive queue at the start; more with connections.
  // On a device without shared receive queues each connection has so many receives of its own instead.
  uint32_t receive_buffers_per_connection = 32;
  uint32_t send_buffers = 512;                     // A loop's send slots.
  uint32_t connections_max = 10000;                // Of one loop on one device; as many connect requests wait for it.
  uint32_t unauthenticated_connections_max = 256;  // Of a listener, of those; one more is rejected.
  uint64_t message_bytes_max = uint64_t{1} << 30;  // Larger ones are refused by either end, in words.
  // Of large messages, what a loop fetches at a time; 0: as the device's rate asks for, 1 MiB up to 200 Gbit/s and 2 at
  // 400 (transport/read_sizes.h). One of more than half of it counts as half. Others wait for their turn, small ones
  // before large, those of less than a 32nd of it at once; what takes longer than 5 ms counts no more. With more than
  // half of the second-level cache messages are no longer in it when they are read; with less than the network's
  // bandwidth times its round trip the network stands idle. While dozens of a connection's large messages wait, twice
  // as much of them is on offer to its peer at a time, so both ends should have the same.
  uint64_t fetch_window_bytes = 0;
  // Landing memory of one loop, that which the program keeps (ReceivedPayload::Share) included; a single larger message
  // is let through alone.
  uint64_t fetch_bytes_max = uint64_t{2} << 30;
  // Exported memory of one loop, quarantine included. Of what a peer leaves in
  // quarantine past a quarter of it the oldest is taken away, or, on a device without memory windows, its connection is
  // ended.
  uint64_t export_bytes_max = uint64_t{2} << 30;
  // How long a message may wait for memory. Past it: for exported memory, the connection that holds most of it, and of
  // which the peer has finished nothing in that time, is ended; for landing memory, if what the program holds lent
  // leaves no room for the message, it is refused; else, if no landing memory was given back in that time, the
  // connection that holds most for fetches, of which none was finished in it, nor read at a pace that would finish all
  // within sixteen times that time, is ended. If one is not enough, the next.
  absl::Duration memory_wait_timeout = absl::Seconds(30);
  // Of one READ; no more than the device's longest message. 0: 256 KiB, and where the device's slowest active port has
  // more than 100 Gbit/s what takes that 20 us, up to 1 MiB.
  uint32_t read_chunk_bytes = 0;
  // READs of one connection in flight; no more than the device has. 0: 16, and at more than 100 Gbit/s more.
  uint16_t read_depth = 0;
  bool checksum_payloads = false;  // CRC32C over fetched payloads, where both ends want it.
  // Retries after "receiver not ready", 7 = for ever. Credits leave nothing to retry; this is for faults.
  uint8_t rnr_retry_count = 6;
  // How long a device waits for an acknowledgement before it sends again, rounded up to a step of the devices' (a power
  // of two); after seven times in vain the connection ends. A device that cannot be told keeps its own, and iWARP has
  // TCP's.
  absl::Duration ack_timeout = absl::Seconds(1);
  // For each of a host's addresses, authentication included. Once more where it passes while the loop is held up by
  // others' connections.
  absl::Duration handshake_timeout = absl::Seconds(5);
  absl::Duration keepalive_interval = absl::Seconds(10);  // Silence after which a peer is probed; zero = never.
  absl::Duration keepalive_timeout = absl::Seconds(5);    // A probe unanswered for this long ends the connection.
  absl::Duration drain_timeout = absl::Seconds(30);
};

// The most that TransportOptions::unauthenticated_connections_max may be; the least is 1.
inline constexpr uint32_t kUnauthenticatedConnectionsMax = 1 << 20;

// InvalidArgument, naming the option, its value and what is allowed.
absl::Status CheckOptions(const TransportOptions& options);
// InvalidArgument for an address that cannot be understood; the host is not looked up.
absl::Status CheckAddress(absl::string_view address);
// Whether this machine has, now, a device that `options` ask for and, if it is one server's, `address`. Connect finds
// the same out; this is for a program that runs once. NotFound, FailedPrecondition, or InvalidArgument where the
// two contradict each other.
absl::Status CheckDevice(absl::string_view address, const TransportOptions& options);

// What the transport of a process counts. Totals since the start unless said otherwise. Exact; safe to read from any
// thread.
struct TransportCounters {
  uint64_t connections = 0;   // Now.
  uint64_t pinned_bytes = 0;  // Registered memory, now.
  // Mapped for frame buffers and payloads on huge pages that the administrator has set aside, now.
  uint64_t huge_page_bytes = 0;
  uint64_t receive_buffers = 0;  // There are, now; without traffic all of them are posted.
  uint64_t receives_posted = 0;  // In shared receive queues, now.
  uint64_t credits_granted = 0;  // Outstanding at peers, now.
  uint64_t landing_bytes = 0;    // In use for fetches or lent, now.
  uint64_t exported_bytes = 0;   // Exported or in quarantine, now.
  uint64_t sends_queued = 0;     // Now.
  uint64_t frames_sent = 0;
  uint64_t frames_packed = 0;  // Of them, those that went in one SEND with another in front.
  uint64_t frames_received = 0;
  uint64_t sends_unsignaled = 0;  // Posted without a completion, of their own or of what was posted with them.
  uint64_t doorbells = 0;
  uint64_t completion_events = 0;  // That woke a loop, or would have.
  uint64_t reads = 0;
  uint64_t fetches_queued = 0;  // That had to wait for room in the fetch window.
  // Of payloads, by this side's processor; docs/payload.md says which path has how many of them.
  uint64_t payload_bytes_serialized = 0;  // Written once, straight into the memory that they are sent from.
  uint64_t payload_bytes_copied = 0;      // Copied from one place in memory to another.
  // Of payload memory and of users' memory. In the steady state none, on a device with memory windows.
  uint64_t registrations = 0;
  uint64_t protocol_errors = 0;
};
TransportCounters ReadTransportCounters();

// Loops with a thread each. Destroying it stops and joins them; connections must be gone by then.
class EventLoopGroup {
 public:
  // InvalidArgument naming the option; ResourceExhausted if the system has not so many threads, and then none is kept.
  static absl::StatusOr<std::unique_ptr<EventLoopGroup>> Start(int count, const EventLoopOptions& options);
  virtual ~EventLoopGroup() = default;
  virtual size_t size() const = 0;
  virtual EventLoop* loop(size_t index) const = 0;
};

class Listener {
 public:
  // Called on the loop that will own the connection, with a connection that is established and, if the policy has an
  // authenticator, whose peer is authenticated.
  using AcceptCallback = std::function<void(std::unique_ptr<Connection>)>;

  // Listens on `address`, spreads connections over `loops` (at least one, running). Of a host by name it listens on all
  // addresses that this machine has, on one port. Blocks until they are bound. NotFound: this machine has no such
  // address, or not on such a device.
  static absl::StatusOr<std::unique_ptr<Listener>> Listen(absl::string_view address, const TransportOptions& options,
                                                          std::vector<EventLoop*> loops, AcceptCallback on_accept,
                                                          AuthenticationPolicy policy = {});
  virtual ~Listener() = default;  // Closes. Any thread but a loop's; blocks until no AcceptCallback runs or will run.
  virtual void Close() = 0;       // New requests are rejected as "shutting down" from here on.
  virtual const std::vector<std::string>& addresses() const = 0;  // With real port and device: "soft://127.0.0.1:7471".
};

// Connects, on `loop`'s thread; `done` runs there, exactly once, with the connection or the reason in words
// (Unavailable, DeadlineExceeded where handshake_timeout passed, FailedPrecondition for versions, Unauthenticated if
// either side refuses the other for who it is, NotFound for a host that has no address, InvalidArgument for the
// address). A host's name is looked up on another thread, for handshake_timeout at most.
using ConnectCallback = absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<Connection>>)>;
void Connect(absl::string_view address, const TransportOptions& options, EventLoop* loop, ConnectCallback done,
             AuthenticationPolicy policy = {});

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_ENDPOINT_H_
