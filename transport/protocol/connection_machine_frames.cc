// Which frame or READ a connection machine posts next, or which landing it asks for.

#include <cassert>
#include <utility>

#include "transport/protocol/connection_machine.h"

namespace verbena::protocol {

namespace {

using wire::FrameHeader;
using wire::FrameType;
using wire::GoodbyeReason;

FrameHeader HeaderOf(FrameType type) {
  FrameHeader header;
  header.type = type;
  return header;
}

}  // namespace

std::optional<Action> ConnectionMachine::NextDueAction(size_t room) {
  std::optional<Action> action;
  if (room > 0 && state_ == State::kOpen && slots_.MayJoin()) NextJoining(room, action);
  if (action) return action;
  if (state_ == State::kClosed && std::exchange(closed_due_, false)) action.emplace(Closed());
  if (state_ == State::kAuthenticating)
    NextAuthentication(action);
  else if (state_ == State::kOpen || state_ == State::kGoodbye)
    NextFrame(action);
  if (action || state_ != State::kOpen) return action;
  action = fetcher_.NextAction();
  if (!action && DrainedBothWays()) {
    SayGoodbye(absl::OkStatus(), GoodbyeReason::kClosed, now_);
    NextFrame(action);
  }
  return action;
}

// Control first, then messages that open a SEND; a frame for its grant alone only if nothing else carries it.
void ConnectionMachine::NextFrame(std::optional<Action>& action) {
  if (!slots_.HasRoomForControl()) return;
  if (credits_.MaySpend()) {
    NextControl(action);
    if (action || state_ != State::kOpen) return;
    NextMessage(action);
    if (action) return;
    if (drain_.FrameDue(eager_.HasFrame() || announcer_.HasUnannounced())) {
      drain_.OnPosted();
      return PostHeader(HeaderOf(FrameType::kDrain), action);
    }
  }
  if (state_ == State::kOpen && credits_.GrantDue()) PostHeader(HeaderOf(FrameType::kGrant), action);
}

void ConnectionMachine::NextControl(std::optional<Action>& action) {
  if (state_ == State::kGoodbye) {
    if (!control_.Take(ControlFrames::kGoodbye)) return;
    return PostHeader(goodbye_.header(), action, goodbye_.words());
  }
  if (fetcher_.HasFinish()) return PostFinish(action);
  if (announcer_.HasWithdraw()) return PostHeader(announcer_.NextWithdraw(), action);
  if (control_.empty()) return;
  if (control_.Take(ControlFrames::kPong)) return PostHeader(HeaderOf(FrameType::kPong), action);
  if (control_.Take(ControlFrames::kPing)) return PostHeader(HeaderOf(FrameType::kPing), action);
  if (control_.Take(ControlFrames::kReclaim)) return PostHeader(HeaderOf(FrameType::kReclaim), action);
  if (!control_.Take(ControlFrames::kReturn)) return;
  const bool busy = eager_.HasFrame() || announcer_.HasUnannounced();
  if (busy || !credits_.HasReturnable()) return;
  const uint32_t count = credits_.Returnable();
  credits_.GiveUp(count);
  FrameHeader header = HeaderOf(FrameType::kReturn);
  header.aux = count;
  PostHeader(header, action);
}

void ConnectionMachine::NextMessage(std::optional<Action>& action) {
  if (messages_held_ || !slots_.HasRoomForMessage()) return;
  if (AnnounceIsNext()) {
    PostAnnounce frame = NextAnnounce();
    frame.header.credit_grant = credits_.SpendOnMessage();
    slots_.Post(SendSlots::kNoSend);
    action.emplace(frame);
  } else if (eager_.HasFrame()) {
    PostEager frame = NextEager();
    frame.header.credit_grant = credits_.SpendOnMessage();
    slots_.Post(frame.send_id);
    action.emplace(frame);
  }
}

// Without a grant: those that are to be given went with the frame in front, or go with the next.
void ConnectionMachine::NextJoining(size_t room, std::optional<Action>& action) {
  if (packs_rendezvous_ && fetcher_.HasFinish()) {
    if (room < wire::kFrameHeaderBytes) return;
    slots_.Join(SendSlots::kNoSend);
    action.emplace(PostControl{fetcher_.NextFinish(), {}, /*joins=*/true});
  } else if (packs_rendezvous_ && AnnounceIsNext()) {
    if (room < announcer_.NextAnnounceBytes()) return;
    PostAnnounce frame = NextAnnounce();
    frame.joins = true;
    slots_.Join(SendSlots::kNoSend);
    action.emplace(frame);
  } else if (eager_.HasFrame() && room >= eager_.NextFrameBytes()) {
    PostEager frame = NextEager();
    frame.joins = true;
    slots_.Join(frame.send_id);
    action.emplace(frame);
  }
}

PostEager ConnectionMachine::NextEager() {
  announce_next_ = true;
  return eager_.NextFrame();
}

PostAnnounce ConnectionMachine::NextAnnounce() {
  announce_next_ = false;
  return announcer_.NextAnnounce();
}

// One that leads messages is paid for as theirs.
void ConnectionMachine::PostFinish(std::optional<Action>& action) {
  FrameHeader header = fetcher_.NextFinish();
  const bool leads_messages = packs_rendezvous_ && (announcer_.HasAnnounce() || eager_.HasFrame());
  const bool leads = leads_messages || (packs_rendezvous_ && fetcher_.HasFinish());
  header.credit_grant = leads_messages ? credits_.SpendOnMessage() : credits_.Spend();
  slots_.Post(SendSlots::kNoSend);
  action.emplace(PostControl{header, {}, /*joins=*/false, leads});
}

void ConnectionMachine::PostHeader(FrameHeader header, std::optional<Action>& action, absl::string_view words) {
  header.credit_grant = credits_.Spend();
  slots_.Post(SendSlots::kNoSend);
  action.emplace(PostControl{header, words});
}

}  // namespace verbena::protocol
