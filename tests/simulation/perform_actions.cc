// How a SimulatedEnd performs each action.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/simulated_end.h"

namespace verbena::simulation {

std::vector<std::byte> SimulatedEnd::FrameBytes(const wire::FrameHeader& header,
                                                absl::Span<const wire::Segment> segments) const {
  const size_t body =
      header.type == wire::FrameType::kEager ? header.payload_bytes : segments.size() * wire::kSegmentBytes;
  std::vector<std::byte> bytes(wire::kFrameHeaderBytes + header.call_header_bytes + body);
  wire::EncodeFrameHeader(header, bytes.data());
  std::byte* to = bytes.data() + wire::kFrameHeaderBytes + header.call_header_bytes;
  for (const wire::Segment& segment : segments) {
    wire::EncodeSegment(segment, to);
    to += wire::kSegmentBytes;
  }
  if (bytes.size() > receive_buffer_bytes_) world_.Violation("a frame is longer than the peer's receive buffer");
  world_.Trace("end ", number_, " posts ", wire::ToString(header.type), " of call ", header.call_id, ", grant ",
               header.credit_grant);
  return bytes;
}

void SimulatedEnd::Perform(const protocol::PostEager& action) {
  std::vector<std::byte> bytes = FrameBytes(action.header, {});
  const bool reported = action.send_id != protocol::SendSlots::kNoSend;
  if (action.joins) return Join(action.header, bytes, reported);
  Queue(action.header, std::move(bytes), /*open=*/world_.scenario.packing != wire::Packing::kNone, reported);
}

void SimulatedEnd::Join(const wire::FrameHeader& header, const std::vector<std::byte>& bytes, bool reported) {
  if (bytes.size() > Room()) return world_.Violation("a frame joins another without room for it");
  if (header.credit_grant > 0) world_.Violation("a frame that joins another grants credits");
  if (world_.Strikes(Sabotage::kLoseJoined)) return;
  open_->bytes.insert(open_->bytes.end(), bytes.begin(), bytes.end());
  open_->awaited |= reported;
}

void SimulatedEnd::Perform(const protocol::PostAnnounce& action) {
  std::vector<std::byte> bytes = FrameBytes(action.header, action.segments);
  if (action.joins) return Join(action.header, bytes, /*reported=*/false);
  Queue(action.header, std::move(bytes), /*open=*/world_.scenario.packing == wire::Packing::kRendezvous);
}

void SimulatedEnd::Perform(const protocol::PostControl& action) {
  if (action.joins) return Join(action.header, FrameBytes(action.header, {}), /*reported=*/false);
  const bool quarantine = action.header.aux == static_cast<uint32_t>(wire::GoodbyeReason::kQuarantineFull);
  if (action.header.type == wire::FrameType::kGoodbye && quarantine) link_.Disturb();
  wire::FrameHeader header = action.header;
  // A driver has a buffer for the words, or not.
  if (world_.random.OneIn(2)) header.call_header_bytes = static_cast<uint16_t>(action.words.size());
  std::vector<std::byte> bytes = FrameBytes(header, {});
  if (header.call_header_bytes > 0)
    std::memcpy(bytes.data() + wire::kFrameHeaderBytes, action.words.data(), header.call_header_bytes);
  // A driver has a buffer in which others find room, or not.
  Queue(header, std::move(bytes), /*open=*/action.leads && world_.random.OneIn(2), /*reported=*/!action.leads);
}

namespace {

// The message of an end's authenticator, by its side and its number.
std::string ProofOf(int side, uint32_t number) {
  return absl::StrCat(side == 1 ? "client" : "server", " says ", number);
}

}  // namespace

void SimulatedEnd::Perform(const protocol::PostAuthenticate& action) {
  std::vector<std::byte> bytes = FrameBytes(action.header, {});
  std::memcpy(bytes.data() + wire::kFrameHeaderBytes, action.message.data(), action.message.size());
  if (machine_->credits_granted() > protocol::kCreditsPerConnectionMin) {
    world_.Violation("a peer that is not authenticated holds more than the smallest credits");
  }
  Queue(action.header, std::move(bytes));
}

void SimulatedEnd::Perform(const protocol::AskAuthenticator& action) {
  const bool first = side() == 1 && authentication_answers_ == 0;
  const uint32_t peers = side() == 1 ? authentication_answers_ : authentication_answers_ + 1;
  if (action.message != (first ? "" : ProofOf(side() ^ 1, peers)))
    world_.Violation("an authenticator hears the wrong message");
  ++authentication_answers_;
  const bool refused = world_.random.OneIn(world_.scenario.refuse_peer_one_in);
  const bool accepted = side() == 1 ? action.last : authentication_answers_ == world_.scenario.authentication_messages;
  if (world_.random.OneIn(2)) return AnswerPeer(refused, accepted);
  world_.After(world_.Latency(), [this, refused, accepted] {
    AnswerPeer(refused, accepted);
    Pump();
  });
}

void SimulatedEnd::AnswerPeer(bool refused, bool accepted) {
  if (refused) {
    world_.Trace("end ", number_, " refuses its peer");
    link_.Disturb();
    return machine_->OnAuthenticationRefused(world_.now());
  }
  const bool last_word = side() == 1 && accepted;
  const absl::Status status = machine_->OnAuthenticationAnswer(
      last_word ? "" : ProofOf(side(), authentication_answers_), accepted, world_.now());
  if (!status.ok()) world_.Violation(absl::StrCat("an authenticator's answer has no place: ", status.ToString()));
}

void SimulatedEnd::Perform(const protocol::Authenticated&) {
  world_.Trace("end ", number_, " is authenticated");
  if (std::exchange(authenticated_, true)) world_.Violation("an end is authenticated twice, or without being asked");
  SendRandomMessages(messages_to_send_);
}

void SimulatedEnd::ExpectAuthenticated(absl::string_view what) {
  if (!authenticated_) world_.Violation(absl::StrCat(what, " reaches the layer above before the authentication"));
}

void SimulatedEnd::Perform(const protocol::Export& action) {
  const uint64_t send_id = action.send_id;
  const uint64_t call_id = calls_.at(send_id);
  const bool fails = world_.random.OneIn(world_.scenario.no_export_one_in);
  world_.After(world_.Latency(), [this, send_id, call_id, fails, segments_max = action.segments_max] {
    if (calls_.count(send_id) == 0 || closed_) return;  // Released meanwhile.
    if (fails) {
      machine_->OnExportFailed(send_id);
      return Pump();
    }
    const uint64_t bytes = ledger_.PayloadBytes(call_id) + wire::kIdentityBytes;
    const ExportedMemory memory{next_address_, bytes, static_cast<uint32_t>(world_.random.Next())};
    next_address_ += bytes + 1;
    exports_[send_id] = memory;
    const uint64_t pieces = world_.random.Between(1, std::min<uint64_t>(segments_max, 4));
    std::vector<wire::Segment> segments;
    for (uint64_t piece = 0; piece < pieces; ++piece) {
      const uint64_t begin = bytes * piece / pieces, end = bytes * (piece + 1) / pieces;
      segments.push_back({memory.address + begin, end - begin, memory.key});
    }
    machine_->OnExported(send_id, segments);
    Pump();
  });
}

void SimulatedEnd::Perform(const protocol::ReleaseExport& action) { exports_.erase(action.send_id); }

void SimulatedEnd::Perform(const protocol::RevokeExport& action) {
  const auto found = exports_.find(action.send_id);
  if (found == exports_.end()) return world_.Violation("an export is revoked that is not there");
  if (!world_.scenario.exports_revocable) world_.Violation("an export is revoked on a device that cannot");
  revoked_.push_back(found->second);
  exports_.erase(found);
}

void SimulatedEnd::Perform(const protocol::Sent& action) {
  const auto call = calls_.find(action.send_id);
  if (call == calls_.end()) return world_.Violation("Sent for a send that is not there");
  ledger_.OnSent(call->second, action.outcome);
  calls_.erase(call);
}

void SimulatedEnd::Perform(const protocol::AskVerdict& action) {
  ExpectAuthenticated("an announcement");
  ledger_.OnAnnounced(number_, action.call_id, action.payload_bytes);
  const uint64_t fetch_id = action.fetch_id, call_id = action.call_id;
  fetches_[fetch_id].call_id = call_id;
  const bool refused = world_.random.OneIn(world_.scenario.refuse_one_in);
  const auto answer = [this, fetch_id, call_id, refused] {
    if (closed_) return;
    if (!refused) ledger_.OnAccepted(call_id);
    const bool in_parts = call_id % 2 == 0;
    fetches_[fetch_id].in_parts = in_parts && !refused;
    machine_->OnVerdict(fetch_id, refused    ? protocol::Verdict::kRefuse
                                  : in_parts ? protocol::Verdict::kFetchInParts
                                             : protocol::Verdict::kFetch);
  };
  if (world_.random.OneIn(2)) {
    answer();
  } else {
    world_.After(world_.Latency(), [this, answer] {
      answer();
      Pump();
    });
  }
  if (!world_.random.OneIn(world_.scenario.cancel_fetch_one_in)) return;
  world_.After(world_.random.Microseconds(0, 200), [this, call_id] {
    machine_->CancelFetch(call_id);
    Pump();
  });
}

void SimulatedEnd::Perform(const protocol::AllocateLanding& action) {
  const uint64_t fetch_id = action.fetch_id;
  FetchState& fetch = fetches_[fetch_id];
  if (fetch.landing_bytes != 0) return world_.Violation("a fetch asks for landing memory twice");
  fetch.landing_bytes = action.bytes;
  const bool fails = world_.random.OneIn(world_.scenario.no_landing_one_in);
  const auto answer = [this, fetch_id, fails] {
    FetchState& waiting = fetches_[fetch_id];
    if (waiting.landing_bytes == 0) return;  // Released meanwhile.
    if (fails) {
      waiting.landing_bytes = 0;
      machine_->OnLandingFailed(fetch_id);
    } else {
      machine_->OnLanding(fetch_id);
    }
  };
  if (world_.random.OneIn(2)) return answer();
  world_.After(world_.Latency(), [this, answer] {
    answer();
    Pump();
  });
}

void SimulatedEnd::Perform(const protocol::PostRead& action) {
  FetchState& fetch = fetches_[action.fetch_id];
  if (action.landing_offset != fetch.landed_bytes) world_.Violation("a READ leaves a hole, or lands twice");
  fetch.landed_bytes += action.length;
  if (fetch.landed_bytes > fetch.landing_bytes) world_.Violation("a READ lands beyond its memory");
  fetch.read_lengths.push_back(action.length);
  PostOpen();
  link_.Read(side(), action);
}

void SimulatedEnd::Perform(const protocol::Landed& action) {
  FetchState& fetch = fetches_[action.fetch_id];
  if (!fetch.in_parts) return world_.Violation("a part is told of a fetch that is over, or is not in parts");
  if (action.bytes <= fetch.told_bytes) world_.Violation("a part is told twice");
  if (action.bytes > fetch.there_bytes) world_.Violation("a part is told that has not landed");
  if (action.bytes <= wire::kIdentityBytes) world_.Violation("a part is told before its identity has landed");
  fetch.told_bytes = action.bytes;
  ledger_.OnPartTold(fetch.call_id);
}

void SimulatedEnd::Perform(const protocol::CheckIdentity& action) {
  const FetchState& fetch = fetches_[action.fetch_id];
  if (fetch.landed_bytes != fetch.landing_bytes) world_.Violation("a fetch is checked before all of it has landed");
  if (action.expected.call_id != fetch.call_id) world_.Violation("a fetch is checked against another call's identity");
  machine_->OnIdentity(action.fetch_id, !world_.random.OneIn(world_.scenario.bad_identity_one_in));
}

void SimulatedEnd::Perform(const protocol::Deliver& action) {
  FetchState& fetch = fetches_[action.fetch_id];
  ledger_.OnFetched(number_, fetch.call_id);
  fetch.in_parts = false;
  fetch.landing_bytes = 0;  // The layer above has it now.
  MaybeAnswer();
}

void SimulatedEnd::Perform(const protocol::FetchFailed& action) {
  FetchState& fetch = fetches_[action.fetch_id];
  ledger_.OnFetchFailed(fetch.call_id);
  fetch.in_parts = false;
}

void SimulatedEnd::Perform(const protocol::ReleaseLanding& action) {
  FetchState& fetch = fetches_[action.fetch_id];
  if (fetch.landing_bytes == 0) world_.Violation("landing memory is given up twice");
  if (!fetch.read_lengths.empty()) world_.Violation("landing memory is given up with READs in flight");
  fetch.landing_bytes = 0;
}

void SimulatedEnd::Perform(const protocol::PeerDraining&) { world_.Trace("end ", number_, " sees its peer drain"); }

void SimulatedEnd::Perform(const protocol::Disconnect&) {
  const absl::Status& status = machine_->end_status();
  world_.Trace("end ", number_, " disconnects: ", status.ToString());
  disconnecting_ = true;
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    world_.Violation(absl::StrCat("end ", number_, " sees a ", status.message()));
  }
  PostOpen();
  link_.Break();
}

void SimulatedEnd::Perform(const protocol::Closed&) {
  closed_ = machine_->end_status();
  world_.Trace("end ", number_, " is closed: ", closed_->ToString());
}

}  // namespace verbena::simulation
