// THE SEAM between transport and rpc: a connection that carries messages both ways.
//
// A message is a kind, a call id, a small header and a payload of any length. It arrives exactly once, or its failure,
// or the connection's, is reported. Small messages arrive in order of sending; a large one is announced first, may be
// refused unfetched, and arrives when its payload has been fetched.
//
// Owner: whoever got it from a Connector or a Listener; destroying it aborts it. Thread: its event loop's, for
// everything below.

#ifndef VERBENA_TRANSPORT_CONNECTION_H_
#define VERBENA_TRANSPORT_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/types/span.h"

namespace verbena::transport {

class EventLoop;
struct PeerIdentity;  // authentication.h

// What a payload is made of, written straight into the memory that it is sent from. WriteTo is called once at most,
// when that memory is there: from then on the message leaves, unless it is cancelled or its connection fails. A source
// of no bytes is asked, too.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  virtual size_t size() const = 0;
  virtual void WriteTo(std::byte* to) = 0;  // size() bytes.
  // A call-back, as a ConnectionHandler's are, once, soon after WriteTo, unless OnSent or the connection's end comes
  // first. The source may go in it only if OnSent need not find it. Of a small message, what is sent from within it
  // may leave in the same SEND. Not of a message that has left unreported: Send's return says so.
  virtual void OnWritten() {}
};

struct OutboundMessage {
  uint8_t kind = 0;                    // Belongs to the layer above.
  uint64_t call_id = 0;                // Table index (low 32 bits) and generation (high 32 bits).
  absl::Span<const std::byte> header;  // Copied before Send returns; at most Connection::header_bytes_max().
  PayloadSource* payload = nullptr;    // First part of the payload; must live until OnSent. Null: none.
  absl::Cord attachment;               // Second part; pieces in registered memory are not copied (gather_plan.h).
  uint64_t tag = 0;                    // Belongs to the layer above, which gets it back with OnSent.
  bool leaves_unreported = false;      // If it is small and can leave at once, Send returns kLeft and that is all.
  bool ends_burst = false;  // Nothing else is about to be sent: if it leaves at once, and nothing else is to be
                            // handled in this turn, it and what is queued need not wait for the turn's end.
  bool awaited = false;     // OnSent of a small message comes as soon as it is delivered. Else it may be
                            // late by some tens of milliseconds: a loop that sleeps need not wake for it.
                            // Says nothing of a message that leaves unreported.
  bool refusable = false;   // Where too many messages wait to be sent or reported it is refused, by OnSent. The others,
                            // which nobody would miss in time, find room for as many again: past that the peer takes
                            // nothing any more, and the connection ends.
};

// Which message a report is about: the id that Send returned, and what it was given.
struct SentMessage {
  uint64_t send_id = 0;
  uint8_t kind = 0;
  uint64_t tag = 0;
};

struct MessageHead {
  uint8_t kind = 0;
  uint64_t call_id = 0;
  absl::Span<const std::byte> header;  // Valid during the call-back only.
  uint64_t payload_bytes = 0;
  uint64_t fetch_id = 0;  // Of a large message: the same in all call-backs about it, and no other's. 0: it is small.
};

// A payload that has arrived, or what has of it. `bytes` is valid during the call-back only; Share outlives it.
class ReceivedPayload {
 public:
  virtual ~ReceivedPayload() = default;
  virtual absl::Span<const std::byte> bytes() const = 0;
  // The bytes from `offset` on, kept for as long as the Cord lives: lent without a copy if they were fetched, copied if
  // they were eager. The Cord may be dropped on any thread. What is lent counts against fetch_bytes_max until then: a
  // program that keeps that much gets no further large message (see TransportOptions::memory_wait_timeout); one that
  // wants to keep much copies it.
  virtual absl::Cord Share(size_t offset) = 0;
};

enum class SendOutcome {
  kDelivered,  // The peer has all of it; or, of one that it fetches in parts, some, and fetches no more.
  kNotSent,    // Not a byte of it left: the peer has not seen it and never will.
  kRefused,    // Announced; the peer refused it unfetched.
  kUnknown,    // The connection failed in between.
  kNoMemory,   // As kNotSent: there was no memory to send it from.
};

enum class Verdict {
  kFetch,         // OnMessage follows when all of it is there.
  kFetchInParts,  // OnPart follows, as its parts come.
  kRefuse,
};

// What the layer above does with what happens. Call-backs never nest and never come from within a call to Send or
// Cancel.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  virtual Verdict OnAnnounced(const MessageHead& head) = 0;  // A large message.
  virtual void OnMessage(const MessageHead& head, ReceivedPayload& payload) = 0;
  // After kFetchInParts, instead of OnMessage: `landed` is what is there of the payload by now, from its beginning,
  // more than the last time. The last call, with all of it, says that the fetch has succeeded; until then it may fail,
  // and with checksums it may turn out then that bytes which were given before were damaged. Not of a small message.
  virtual void OnPart(const MessageHead& /*head*/, ReceivedPayload& /*landed*/) {}
  virtual void OnFetchFailed(const MessageHead& head,
                             const absl::Status& status) = 0;  // Instead of OnMessage, or of OnPart with all of it.
  virtual void OnSent(const SentMessage& sent, SendOutcome outcome) = 0;  // Exactly once for each id of Send.
  virtual void OnPeerDraining() = 0;                                      // The peer takes no new message from here on.
  virtual void OnClosed(const absl::Status& status) = 0;  // The last call-back; every OnSent has been made. The
                                                          // connection may be destroyed.
};

class Connection {
 public:
  virtual ~Connection() = default;

  // Sends a message, or queues it while there is no credit or no slot. Returns the send's id, reported by OnSent; or
  // kLeft, if the message allows it: it has left whole, its payload was read, and nothing more is said of it. Only the
  // connection's end, which OnClosed tells, can keep it from the peer then. By reference for the hot path's sake: it
  // takes what it keeps.
  static constexpr uint64_t kLeft = 0;  // No send's id.
  virtual uint64_t Send(OutboundMessage&& message) = 0;
  // The sender lost interest: not sent if it is still queued; withdrawn, its memory in quarantine, if it is announced.
  // OnSent follows.
  virtual void CancelSend(uint64_t send_id) = 0;
  // The receiver lost interest in a large message that it is fetching. OnFetchFailed follows. The sender hears that it
  // was refused, but of one in parts, of which one has landed, that it was delivered.
  virtual void CancelFetch(uint64_t call_id) = 0;

  // Finishes what is in flight, then closes with `OK`. No Send after this.
  virtual void Drain() = 0;
  // Drops everything. OnClosed follows with this status, whose message the peer is told where that is possible.
  virtual void Abort(absl::Status status) = 0;

  virtual void set_handler(ConnectionHandler* handler) = 0;  // Before any call-back can come; must outlive OnClosed.
  virtual size_t header_bytes_max() const = 0;
  virtual const std::string& peer() const = 0;  // For people: "soft://127.0.0.1:7471".
  virtual EventLoop* loop() const = 0;
  // Who the peer was found to be; shared, since calls outlive their connection. Never null; of nobody if nobody asked.
  virtual const std::shared_ptr<const PeerIdentity>& peer_identity() const = 0;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_CONNECTION_H_
