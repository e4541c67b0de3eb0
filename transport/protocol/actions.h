// What a ConnectionMachine asks its driver to do. Each action is a value; the driver performs them in the order it gets
// them.
//
// Ids: a send_id names one Send until its Sent action and, for a rendezvous, until its ReleaseExport or RevokeExport; a
// fetch_id names one fetch until its Deliver, FetchFailed or ReleaseLanding, whichever is last. Both are an index (low
// 32 bits) and a generation (high 32 bits), are never 0 and come back to the machine with the events that answer the
// actions. An event with an id that is no longer in use is ignored, so a driver need not track what was cancelled.

#ifndef VERBENA_TRANSPORT_PROTOCOL_ACTIONS_H_
#define VERBENA_TRANSPORT_PROTOCOL_ACTIONS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transport/wire/frame.h"

namespace verbena::protocol {

// How a Send ended. The same values, in the same order, as transport::SendOutcome.
enum class SendOutcome {
  kDelivered,  // The peer has all of it; or, of one that it fetches in parts, some, and fetches no more.
  kNotSent,    // Not a byte of it left.
  kRefused,    // Announced; the peer refused it unfetched.
  kUnknown,    // Announced or posted, and the connection failed or the sender withdrew.
  kNoMemory,   // Not a byte of it left: it could not be exported.
};

// --- Frames. Each takes one send-queue slot, given back by OnSendCompleted; but one that `joins` is appended to the
// frame posted last, in the same SEND, takes no slot of its own, and is reported when that one has completed. The
// header is complete: grant included.

// Post header | call header | payload of this send. `send_id` 0: nobody waits for it.
struct PostEager {
  uint64_t send_id;
  bool joins;
  wire::FrameHeader header;
};
// Post header | call header | segments of this send. `segments` is valid until the next call to the machine.
struct PostAnnounce {
  uint64_t send_id;
  bool joins;
  wire::FrameHeader header;
  absl::Span<const wire::Segment> segments;
};
// Post the header, and behind it, as its call header, the words (a kGoodbye's; valid until the next call to the
// machine). A driver that has no buffer for them at hand posts the header alone: its call_header_bytes is 0 as it
// comes. `leads`: frames that wait may join this one, if it is posted so that they can.
struct PostControl {
  wire::FrameHeader header;
  absl::string_view words = {};
  bool joins = false;
  bool leads = false;
};

// Post the header and behind it, as its call header, the message (valid until the next call to the machine).
struct PostAuthenticate {
  wire::FrameHeader header;
  absl::string_view message;
};

// --- Authentication, before anything else; only where the handshake chose it.

// Ask our authenticator what to say next; answer with OnAuthenticationAnswer, OnAuthenticationRefused or
// OnAuthenticatorBusy, at once or later. `message`, the peer's (empty when a client begins), points into the frame
// given to OnFrame. `last`: of a client; the server has accepted, and this is its last message.
struct AskAuthenticator {
  absl::string_view message;
  bool last;
};
// Both sides are content: from here on everything else happens.
struct Authenticated {};

// --- Rendezvous, sending side.

// Put identity block | payload of this send into memory that the peer may READ; answer with OnExported or
// OnExportFailed, at once or later (while memory is short, keep it waiting). At most `segments_max` segments.
struct Export {
  uint64_t send_id;
  size_t segments_max;
};
// The export of this send (or the wait for its memory) is over: the peer cannot READ it any more. No event for this id
// is needed after this.
struct ReleaseExport {
  uint64_t send_id;
};
// The peer was asked to let go of this export, has not, and others need the memory: take it away from the peer all the
// same. Only with ConnectionConfig::exports_revocable. No ReleaseExport follows. A READ that comes too late breaks the
// queue pair.
struct RevokeExport {
  uint64_t send_id;
};
// The one report about a Send. Its sources (header, payload) are not read after this; an export may outlive it.
struct Sent {
  uint64_t send_id;
  SendOutcome outcome;
};

// --- Receiving. Eager messages are no action: OnFrame says of which frames they are to be delivered.

// What is to become of a large message. The same values, in the same order, as transport::Verdict.
enum class Verdict {
  kFetch,
  kFetchInParts,  // Landed says how much of it is there while the rest is READ.
  kRefuse,
};

// The span points into the frame given to OnFrame: perform it before its buffer is reposted. Answer with OnVerdict, at
// once or later.
struct AskVerdict {
  uint64_t fetch_id;
  uint8_t message_kind;
  uint16_t flags;  // kFlagChecksum: CheckIdentity must verify the payload's CRC32C.
  uint64_t call_id;
  absl::Span<const std::byte> call_header;
  uint64_t payload_bytes;
};

// --- Rendezvous, receiving side.

// Get `bytes` of landing memory (identity block included); answer with OnLanding or OnLandingFailed, at once or later.
struct AllocateLanding {
  uint64_t fetch_id;
  uint64_t bytes;
};
// Post one READ. Takes no send slot: size the send queue as send_slots + read_depth. Answer: OnReadCompleted.
struct PostRead {
  uint64_t fetch_id;
  uint64_t remote_address;
  uint32_t remote_key;
  uint64_t landing_offset;
  uint32_t length;
};
// Of a message that is fetched in parts: so many bytes from its landing's beginning on, the identity block and more,
// are there and will not change; further READs are to come. `expected` as of CheckIdentity: nobody is to see any of the
// bytes unless the block matches. Whether the fetch succeeds is not known yet: Deliver or FetchFailed is to come.
struct Landed {
  uint64_t fetch_id;
  uint64_t bytes;
  wire::Identity expected;
};
// Compare the landed identity block with this one (the checksum only if `flags` says so); answer: OnIdentity.
struct CheckIdentity {
  uint64_t fetch_id;
  uint16_t flags;
  wire::Identity expected;  // `checksum` is not known beforehand and is 0 here.
};
// The payload is whole; the landing belongs to the driver from here on (no ReleaseLanding follows).
struct Deliver {
  uint64_t fetch_id;
};
enum class FetchFailure : uint8_t {
  kNone,
  kTooLong,    // Past message_bytes_max: never fetched.
  kNoMemory,   // To land it in.
  kWithdrawn,  // By its sender.
  kCancelled,  // By us.
  kReadFailed,
  kBadIdentity,  // What was fetched is not what was announced.
  kConnectionEnded,
};
// A fetch that was not refused has failed; ConnectionMachine::ErrorOf says why in words. ReleaseLanding
// follows or preceded where memory was asked for.
struct FetchFailed {
  uint64_t fetch_id;
  uint64_t payload_bytes;  // As announced.
  FetchFailure why;
};
// The landing memory (or the wait for it) is given up; no READ into it is outstanding.
struct ReleaseLanding {
  uint64_t fetch_id;
};

// --- The connection.

// The peer takes no new message; Sends from here on end as kNotSent.
struct PeerDraining {};
// Tear the queue pair down, for the reason that is the machine's end_status(); when it is destroyed and its completion
// queues are drained, call OnDisconnected.
struct Disconnect {};
// The last action. Every Send has had its Sent, every accepted fetch its Deliver or FetchFailed.
struct Closed {};

using Action = std::variant<PostEager, PostAnnounce, PostControl, PostAuthenticate, AskAuthenticator, Authenticated,
                            Export, ReleaseExport, RevokeExport, Sent, AskVerdict, AllocateLanding, PostRead, Landed,
                            CheckIdentity, Deliver, FetchFailed, ReleaseLanding, PeerDraining, Disconnect, Closed>;
// They are passed about for each message, by value.
static_assert(std::is_trivially_copyable_v<Action>);

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_ACTIONS_H_
