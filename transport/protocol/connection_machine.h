// The protocol of one connection, sans-IO: events and commands go in, actions come out.
//
// The machine decides what is sent when, what is fetched and how a connection ends; its driver owns buffers, memory
// regions and the queue pair and performs the actions. The machine deals in ids, lengths and frame headers only. It
// coordinates small machines and contains no protocol of its own: CreditWindow and SendSlots (the two gates before a
// frame), AuthenticationExchange, EagerSender, RendezvousSender, RendezvousReceiver, Drain, Keepalive.
//
// Order of calls. Construct it when the connection is established (both Hellos known). If they chose authentication,
// nothing but the exchange happens, and no Send and no Drain may come, until Authenticated. Then any of the commands
// and events, in any order; after each, or after a batch of them, unless settled(), call NextAction until it returns
// nullopt, perform what it returns, and read NextDeadline if TakeDeadlineNews. After OnFrame do so at once, unless
// quiet(): AskVerdict points into the frame. Where it returns true that may wait for the end of the turn: an eager
// message that OnFrame lets through goes ahead of actions that were not taken before. Performing an action may call the
// machine again (a handler that sends): such calls only queue, but for JoinAtOnce and PostAtOnce. Frames are made by
// these and NextAction at the moment they are called, with the grants of that moment. Call OnDeadline at NextDeadline.
// The end: Disconnect is asked for (or the queue pair fails by itself); OnDisconnected is called once, when the queue
// pair can move no more bytes; the remaining actions come out, the last being Closed; then destroy the machine.
//
// Owner: the driver's connection. Thread: its event loop's. Errors: whatever a peer can do wrong ends in a Disconnect
// with a status in words; no call returns an error. Memory: tables and queues grow to what is needed and are recycled;
// nothing is allocated in the steady state.

#ifndef VERBENA_TRANSPORT_PROTOCOL_CONNECTION_MACHINE_H_
#define VERBENA_TRANSPORT_PROTOCOL_CONNECTION_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transport/protocol/actions.h"
#include "transport/protocol/authentication_exchange.h"
#include "transport/protocol/control_frames.h"
#include "transport/protocol/credit_window.h"
#include "transport/protocol/drain.h"
#include "transport/protocol/eager_sender.h"
#include "transport/protocol/goodbye.h"
#include "transport/protocol/grant_budget.h"
#include "transport/protocol/keepalive.h"
#include "transport/protocol/quarantine_watch.h"
#include "transport/protocol/rendezvous_receiver.h"
#include "transport/protocol/rendezvous_sender.h"
#include "transport/protocol/send_head.h"
#include "transport/protocol/send_slots.h"
#include "transport/wire/frame.h"
#include "transport/wire/hello.h"

namespace verbena::protocol {

struct ConnectionConfig {
  bool initiator = false;  // This side connected (the client); the two sides differ in who may spend the last credit.
  wire::Hello ours;        // As sent. `initial_credits` = the share's granted().
  wire::Hello peers;       // As received and checked (handshake.h).
  uint64_t message_bytes_max = uint64_t{1} << 30;     // Longer announcements are refused; longer Sends not sent.
  uint64_t quarantine_bytes_max = uint64_t{2} << 30;  // Exports withdrawn and not finished by the peer.
  bool exports_revocable = false;                     // The driver can perform RevokeExport.
  uint64_t offered_bytes = uint64_t{2} << 20;         // On offer to the peer while many large messages wait.
  uint32_t pending_sends_max = 1 << 16;               // Sends without their Sent: see SendHead::refusable.
  uint32_t read_chunk_bytes = 256 << 10;
  uint32_t send_slots = 128;  // At least kSendSlotsMin. The send queue needs send_slots + ours.read_depth entries.
  absl::Duration keepalive_timeout = absl::Seconds(5);  // After ours.keepalive_ms of silence and a probe.
  absl::Duration drain_timeout = absl::Seconds(30);
  absl::Duration authentication_timeout = absl::Seconds(5);  // Where the Hellos chose it.
  absl::Duration quarantine_timeout = absl::Seconds(5);      // Past kQuarantineExportsMax, without a finish.
  absl::Duration goodbye_timeout = absl::Milliseconds(200);  // For a Goodbye to leave before Disconnect.

  // The features in force are those that both Hellos name.
  bool Agreed(uint32_t feature) const { return (ours.features & peers.features & feature) != 0; }
  wire::Packing packing() const { return wire::PackingOf(ours.features & peers.features); }
};

class ConnectionMachine {
 public:
  // `share` is this connection's, taken before our Hello was sent.
  ConnectionMachine(const ConnectionConfig& config, GrantShare share, absl::Time now);
  ConnectionMachine(const ConnectionMachine&) = delete;
  ConnectionMachine& operator=(const ConnectionMachine&) = delete;

  // --- Commands.

  // Eager where the frame fits the peer's receive buffer, else a rendezvous. Exactly one Sent follows, at once
  // (kNotSent) if the connection is draining or closing or a limit is passed. One that is not refusable has twice the
  // room of pending_sends_max; where that is full, the connection ends.
  uint64_t Send(const SendHead& head);
  // Instead of a Send: true, or a value, if the message leaves at once, in an eager frame that the driver posts before
  // the next call to the machine; no Sent follows. Else nothing has happened: it must wait, for a gate or behind
  // others, is not eager, or may not be sent at all. Send it.
  //
  // It joins the frame that was given out last; its header is head.EagerHeader(). `room`: as NextAction's.
  bool JoinAtOnce(const SendHead& head, size_t room) {
    if (head.eager_frame_bytes() > room || !MayLeave(head) || !slots_.MayJoin()) return false;
    slots_.Join(SendSlots::kNoSend);
    return true;
  }
  // It leaves in a SEND of its own, whose header grants so many credits.
  std::optional<uint16_t> PostAtOnce(const SendHead& head) {
    if (!MayLeave(head) || messages_held_ || !slots_.HasRoomForMessage() || !credits_.MaySpend()) return std::nullopt;
    slots_.Post(SendSlots::kNoSend);
    return credits_.SpendOnMessage();
  }
  void CancelSend(uint64_t send_id, absl::Time now);  // Sent follows, unless it was posted eagerly already.
  void CancelFetch(uint64_t call_id);  // Every fetch of this call; FetchFailed follows when its READs are done.
  void Drain(absl::Time now);
  void Abort(absl::Status status, absl::Time now);  // Goodbye if it can be posted, then Disconnect.

  // The driver's pool of send buffers is empty (true) or no longer so (false): while held, no PostEager or PostAnnounce
  // (but one that joins another frame) and no PostAuthenticate comes out. Control frames still do.
  void HoldMessages(bool hold) { messages_held_ = hold; }
  bool messages_held() const { return messages_held_; }

  // --- Events: the queue pair.

  // A SEND arrived. Its receive counts as consumed from here on; the driver reports its repost to the GrantBudget. Its
  // frames follow, each by one of the next two.
  void OnSendArrived() {
    if (state_ == State::kClosed) return;
    absl::Status status = credits_.OnSendArrived();
    // At once: each such SEND takes a receive from another connection.
    if (!status.ok()) StartDisconnect(std::move(status));
  }
  // True: it is an eager message, to be delivered now.
  bool OnFrame(const wire::FrameView& frame, absl::Time now);
  // It could not be decoded, nor can what is behind it.
  void OnMalformedFrame(absl::Status status, absl::Time now);
  // The oldest `count` posted SENDs have completed on the send queue. READs are not counted.
  void OnSendCompleted(uint32_t count, absl::Time now);
  // READs complete in the order of posting. Not ok: the queue pair has failed; a Disconnect follows.
  void OnReadCompleted(uint64_t fetch_id, bool ok);
  // With its last READ all of a message has landed: what NextAction gives out comes to its delivery.
  bool HasLanded(uint64_t fetch_id) const { return fetcher_.HasLanded(fetch_id); }
  // The queue pair is destroyed, its completions drained. Ours or the peer's doing; `status` is the cause if the
  // machine did not ask for it.
  void OnDisconnected(absl::Status status);

  // --- Events: answers to actions, and the clock.

  // Our authenticator's answer to AskAuthenticator: what to say, and whether the peer is who it should be.
  // FailedPrecondition: it has no place in the exchange, and the connection ends. Nothing happens if it comes too late.
  absl::Status OnAuthenticationAnswer(absl::string_view message, bool accept, absl::Time now);
  // Our authenticator refuses the peer, which is told that much and no more.
  void OnAuthenticationRefused(absl::Time now);
  // Our authenticator cannot be asked, for too many others are. The peer is told, and may try again.
  void OnAuthenticatorBusy(absl::Time now);
  void OnExported(uint64_t send_id, absl::Span<const wire::Segment> segments);
  void OnExportFailed(uint64_t send_id);  // The Send ends as kNotSent; nothing is left to release.
  void OnVerdict(uint64_t fetch_id, Verdict verdict);
  void OnLanding(uint64_t fetch_id);
  void OnLandingFailed(uint64_t fetch_id);  // The announcer learns kNoMemory; nothing is left to release.
  void OnIdentity(uint64_t fetch_id, bool ok);
  void OnBudgetWakeup();  // GrantBudget::NextWakeup named this connection.
  void OnDeadline(absl::Time now);

  // --- Outputs.

  // `room`: bytes that the driver could still append to the frame that it was given last, which may have company
  // (wire::Packing) and has not left yet: one that fits may join it, at the cost of neither credit nor slot.
  std::optional<Action> NextAction(size_t room = 0) {
    if (actions_.empty()) {
      known_quiet_ = quiet();
      if (known_quiet_ && !credits_.GrantDue()) return std::nullopt;  // The usual case.
      if (!StartExports()) return NextDueAction(room);
    }
    return TakeQueued();
  }
  // Nothing is to be done but perhaps to post a frame for its grant alone: NextAction may be left to the end of a turn.
  bool quiet() const { return known_quiet_ || FindQuiet(); }
  // For tests: what is remembered of it is true.
  bool knows_quiet_rightly() const { return !known_quiet_ || FindQuiet(); }
  // Quiet, and no frame may be due for its grant alone: NextAction has nothing to give out. Nor is NextDeadline to be
  // re-read.
  bool settled() const { return quiet() && !deadline_news_ && !credits_.MayOweGrant(); }
  // Whether something waits for the posted SENDs to complete: their slots, or the end. (What waits for a Send of its
  // own, its sender knows.) If it is false when a frame of PostAtOnce or a PostControl that leads others was given out,
  // that frame's completion may come with a later one's.
  bool awaits_sends() const {
    return slots_.HalfFull() || (!known_quiet_ && (state_ != State::kOpen || drain_.requested()));
  }
  // When OnDeadline is due; InfiniteFuture if never. It moves later with traffic, without notice, and earlier with
  // calls like CancelSend and Drain, with OnDeadline, and with frames (the peer drains, answers a probe, ends the
  // authentication, or breaks the protocol).
  absl::Time NextDeadline() const;
  // It may have moved earlier since this was asked the last time: asked when what came together was handled.
  bool TakeDeadlineNews() { return std::exchange(deadline_news_, false); }

  // The longest call header that any message can have.
  size_t header_bytes_max() const;
  // No message is queued, in flight or in quarantine in either direction, but for what left at once; SENDs may
  // not have completed.
  bool idle() const;
  bool closed() const { return state_ == State::kClosed; }
  // How the connection ends, from Disconnect on; OK for the good end, and before.
  const absl::Status& end_status() const { return goodbye_.status(); }
  // Why a fetch failed, in words.
  absl::Status ErrorOf(const FetchFailed& failed) const { return fetcher_.ErrorOf(failed, end_status()); }
  // For tests and counters.
  uint32_t credits_held() const { return credits_.held(); }
  uint32_t credits_granted() const { return credits_.granted(); }
  size_t sends_in_flight() const { return slots_.posted(); }

 private:
  enum class State : uint8_t {
    kAuthenticating,  // Only the exchange happens. Woken by its frames, our authenticator, its deadline.
    kOpen,            // Messages flow, or drain.
    kGoodbye,         // The end is decided; the Goodbye is to be posted and completed. Woken by that, or its deadline.
    kDisconnecting,   // Disconnect was asked for. Woken by OnDisconnected.
    kClosed,          // Closed was the last action.
  };

  // Not at its end, nor on the way there.
  bool live() const { return state_ == State::kAuthenticating || state_ == State::kOpen; }
  absl::Status DispatchAuthentication(const wire::FrameView& frame);
  void OnAuthenticated(absl::Time now);
  void NextAuthentication(std::optional<Action>& action);
  absl::Status Dispatch(const wire::FrameView& frame, absl::Time now);
  absl::Status OnPeerAnnounce(const wire::FrameView& frame, absl::Time now);
  absl::Status OnPeerFinish(const wire::FrameHeader& finish, absl::Time now);
  void OnPeerDrain(absl::Time now);
  void OnPeerGoodbye(const wire::FrameView& frame);

  // A payload may have any length; its frame's may not.
  bool IsEager(const SendHead& head) const {
    return head.payload_bytes <= config_.peers.receive_buffer_bytes - wire::kFrameHeaderBytes - head.header_bytes;
  }
  // Open, and no frame waits for a gate: what is sent now is behind none.
  bool NoFrameWaits() const {
    return state_ == State::kOpen && !eager_.HasFrame() && !announcer_.HasAnnounce() && !announcer_.HasWithdraw() &&
           !fetcher_.HasFinish() && control_.empty() && !drain_.requested();
  }
  bool MayLeave(const SendHead& head) const {
    return (known_quiet_ || NoFrameWaits()) && IsEager(head) && head.payload_bytes <= config_.message_bytes_max;
  }
  std::optional<Action> TakeQueued() {
    std::optional<Action> action(actions_.front());
    actions_.DropFront();
    return action;
  }
  // No action is queued, and no frame, no export, no READ, no landing and no end is due.
  bool FindQuiet() const {
    return actions_.empty() && NoFrameWaits() && !fetcher_.HasPending() && !announcer_.exports_due();
  }
  // Whatever may end the quiet says so.
  void StirUp() {
    known_quiet_ = false;
    deadline_news_ = true;
  }
  // True if that has queued any.
  bool StartExports() {
    if (!announcer_.exports_due() || state_ != State::kOpen) return false;
    announcer_.StartExports();
    return !actions_.empty();
  }
  // When none is queued: a frame, a READ, a landing or an end that is due now.
  std::optional<Action> NextDueAction(size_t room);
  // Each fills `action` if there is something of its kind to post.
  void NextFrame(std::optional<Action>& action);
  void NextControl(std::optional<Action>& action);
  void NextMessage(std::optional<Action>& action);
  void NextJoining(size_t room, std::optional<Action>& action);
  void PostFinish(std::optional<Action>& action);
  // Whether, of the messages that wait, an announcement goes next.
  bool AnnounceIsNext() const { return announcer_.HasAnnounce() && (announce_next_ || !eager_.HasFrame()); }
  PostEager NextEager();
  PostAnnounce NextAnnounce();
  void PostHeader(wire::FrameHeader header, std::optional<Action>& action, absl::string_view words = {});

  // Ends the connection with `status`, saying why to the peer if it can be said in time.
  void SayGoodbye(absl::Status status, wire::GoodbyeReason reason, absl::Time now);
  void EndQuarantine(absl::Time now);
  void EndOverfull();
  void StartDisconnect(absl::Status status);
  void EndPosted(SendOutcome outcome);  // Every eager message that is posted.
  bool DrainedBothWays() const;

  // Constant after construction.
  const ConnectionConfig config_;

  // Owned by the loop. What every message needs stands together.
  State state_;
  bool known_quiet_ = false;  // quiet() was true, and since then messages have come and left at once, and no more.
  bool deadline_news_ = true;
  bool messages_held_ = false;
  absl::Time now_;  // Of the last event that told it.
  Keepalive keepalive_;
  CreditWindow credits_;
  SendSlots slots_;
  ActionQueue actions_;
  AuthenticationExchange authentication_;
  EagerSender eager_;
  RendezvousSender announcer_;
  RendezvousReceiver fetcher_;
  ControlFrames control_;
  protocol::Drain drain_;
  QuarantineWatch quarantine_;
  bool closed_due_ = false;
  bool announce_next_ = false;   // Announcements and eager messages take turns.
  const bool packs_rendezvous_;  // wire::Packing::kRendezvous. Constant after construction.
  Goodbye goodbye_;              // Decided when the end is; its status is the connection's.
};

inline bool ConnectionMachine::OnFrame(const wire::FrameView& frame, absl::Time now) {
  now_ = now;
  if (state_ == State::kClosed || state_ == State::kDisconnecting) return false;
  deadline_news_ |= keepalive_.probing();
  keepalive_.OnFrame(now);
  absl::Status status = credits_.OnGrant(frame.header.credit_grant);
  const bool takes_messages = known_quiet_ || (state_ == State::kOpen && !drain_.peer_drained());
  if (status.ok() && takes_messages && frame.header.type == wire::FrameType::kEager) {
    credits_.OnMessage(now);
    return true;
  }
  StirUp();
  if (status.ok()) status = Dispatch(frame, now);
  if (!status.ok()) SayGoodbye(std::move(status), wire::GoodbyeReason::kProtocolError, now);
  return false;
}

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_CONNECTION_MACHINE_H_
