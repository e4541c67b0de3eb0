#include "transport/soft/stream/mirror.h"

#include <algorithm>
#include <cstring>

#include "transport/soft/record.h"

namespace verbena::soft {
namespace {

// The far writer hears of free space at least this often, however busy our end is.
constexpr uint64_t kConsumedBytesUntold = kRingBytes / 4;

// The rings of a wire all begin at their first byte, so that their ends are the same at both ends of it.
uint64_t RingEndAfter(uint64_t position) { return RingBytes{nullptr}.EndAfter(position); }

// How far an update that begins at `begin` of a ring may go: it does not cross the ring's end, as records do not.
uint64_t UpdateEndMax(uint64_t begin) { return std::min(begin + kUpdateRingBytesMax, RingEndAfter(begin)); }

// Whole records from `begin` of a ring of our own end, as many as one update may have. No record is longer than that.
static_assert(RecordBytes(kRecordPrefixBytesMax + kFragmentBytesMax) <= kUpdateRingBytesMax);

uint32_t WholeRecords(const std::byte* ring, uint64_t begin, uint64_t end) {
  end = std::min(end, RingEndAfter(begin));
  if (end <= UpdateEndMax(begin)) return static_cast<uint32_t>(end - begin);
  uint32_t bytes = 0;
  while (true) {
    RecordHeader header;
    std::memcpy(&header, ring + (begin + bytes) % kRingBytes, sizeof(header));
    size_t record = RecordBytes(RecordPrefixBytes(header.kind) + header.payload_bytes);
    if (bytes + record > kUpdateRingBytesMax) return bytes;
    bytes += static_cast<uint32_t>(record);
  }
}

// Copies as much as is wanted and there. Returns what is left of `bytes`.
absl::Span<const std::byte> Fill(absl::Span<const std::byte> bytes, std::byte* ring, uint64_t* received,
                                 uint32_t* left) {
  size_t count = std::min<size_t>(bytes.size(), *left);
  std::memcpy(ring + *received % kRingBytes, bytes.data(), count);
  *received += count;
  *left -= static_cast<uint32_t>(count);
  return bytes.subspan(count);
}

}  // namespace

Mirror::Mirror(PairMemory* memory)
    : own_(memory->control.ends[0]),
      far_(memory->control.ends[1]),
      requests_out_{memory->request_ring(0), &own_.requests_out.ring, &far_.requests_in.ring},
      responses_out_{memory->response_rings[0], &own_.responses_out.ring, &far_.responses_in.ring},
      requests_in_{memory->request_ring(1), &far_.requests_out.ring, &own_.requests_in.ring},
      responses_in_{memory->response_rings[1], &far_.responses_out.ring, &own_.responses_in.ring} {}

bool Mirror::Receive(absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (header_in_bytes_ < kUpdateHeaderBytes) {
      size_t count = std::min(bytes.size(), kUpdateHeaderBytes - header_in_bytes_);
      std::memcpy(header_in_.data() + header_in_bytes_, bytes.data(), count);
      header_in_bytes_ += count;
      bytes.remove_prefix(count);
      if (header_in_bytes_ == kUpdateHeaderBytes && !BeginReceiving()) return false;
    }
    bytes = Fill(bytes, responses_in_.bytes, &responses_in_.received, &response_bytes_left_);
    bytes = Fill(bytes, requests_in_.bytes, &requests_in_.received, &request_bytes_left_);
    bool complete = header_in_bytes_ == kUpdateHeaderBytes && response_bytes_left_ == 0 && request_bytes_left_ == 0;
    if (complete) FinishReceiving();
  }
  return true;
}

bool Mirror::HasRoom(const IncomingRing& ring, uint32_t bytes) {
  return ring.received + bytes - ring.head->head.load() <= kRingBytes &&
         ring.received + bytes <= UpdateEndMax(ring.received);
}

bool Mirror::BeginReceiving() {
  std::optional<UpdateHeader> header = DecodeUpdateHeader(header_in_);
  if (!header.has_value()) return false;
  // Consumption may not run ahead of what our driver was given to send, nor back.
  bool possible = header->requests_consumed >= heard_.requests_consumed &&
                  header->requests_consumed <= requests_out_.announced &&
                  header->responses_consumed >= heard_.responses_consumed &&
                  header->responses_consumed <= responses_out_.announced && header->accepted >= heard_.accepted &&
                  header->closed >= heard_.closed && HasRoom(responses_in_, header->response_bytes) &&
                  HasRoom(requests_in_, header->request_bytes);
  if (!possible) return false;
  heard_ = *header;
  response_bytes_left_ = header->response_bytes;
  request_bytes_left_ = header->request_bytes;
  return true;
}

// In the order in which a queue pair publishes: answers before their acceptance, an acceptance before the refusal of
// what follows, the end last.
void Mirror::FinishReceiving() {
  header_in_bytes_ = 0;
  responses_in_.tail->tail.store(responses_in_.received);
  requests_in_.tail->tail.store(requests_in_.received);
  requests_out_.head->head.store(heard_.requests_consumed);
  responses_out_.head->head.store(heard_.responses_consumed);
  far_.requests_out.rnr_retry.store(heard_.rnr_retry);
  far_.requests_out.probe.store(heard_.probe);
  far_.requests_in.probe_answer.store(heard_.probe_answer);
  far_.requests_in.accepted.store(heard_.accepted);
  far_.state.refusal.store(heard_.refusal);
  if (heard_.closed) far_.state.closed.store(1);
}

void Mirror::ReceiveEnd() { far_.state.closed.store(1); }

// Everything but the bytes. Acceptances, refusals and the end wait until all bytes published before them go along.
UpdateHeader Mirror::CurrentState() const {
  UpdateHeader state = told_;
  state.response_bytes = state.request_bytes = 0;
  state.rnr_retry = static_cast<uint8_t>(own_.requests_out.rnr_retry.load());
  state.requests_consumed = own_.requests_in.ring.head.load();
  state.responses_consumed = own_.responses_in.ring.head.load();
  state.probe = own_.requests_out.probe.load();
  state.probe_answer = own_.requests_in.probe_answer.load();
  bool all_bytes = responses_out_.tail->tail.load() <= UpdateEndMax(responses_out_.announced) &&
                   requests_out_.tail->tail.load() <= UpdateEndMax(requests_out_.announced);
  if (!all_bytes) return state;
  state.accepted = own_.requests_in.accepted.load();
  state.refusal = static_cast<uint16_t>(own_.state.refusal.load());
  state.closed = own_.state.closed.load() != 0;
  return state;
}

Mirror::Demand Mirror::demand() const {
  bool unfinished = first_piece_ < kPiecesMax;
  bool bytes = responses_out_.tail->tail.load() != responses_out_.announced ||
               requests_out_.tail->tail.load() != requests_out_.announced;
  if (unfinished || bytes) return Demand::kNow;
  UpdateHeader state = CurrentState();
  bool consumed_much = state.requests_consumed - told_.requests_consumed >= kConsumedBytesUntold ||
                       state.responses_consumed - told_.responses_consumed >= kConsumedBytesUntold;
  bool urgent = state.refusal != told_.refusal || state.closed != told_.closed || state.rnr_retry != told_.rnr_retry ||
                state.probe != told_.probe || state.probe_answer != told_.probe_answer;
  if (consumed_much || urgent) return Demand::kNow;
  bool same = state.accepted == told_.accepted && state.requests_consumed == told_.requests_consumed &&
              state.responses_consumed == told_.responses_consumed;
  return same ? Demand::kNone : Demand::kLater;
}

void Mirror::BeginUpdate() {
  UpdateHeader header = CurrentState();
  header.response_bytes =
      WholeRecords(responses_out_.bytes, responses_out_.announced, responses_out_.tail->tail.load());
  header.request_bytes = WholeRecords(requests_out_.bytes, requests_out_.announced, requests_out_.tail->tail.load());
  header_out_ = EncodeUpdateHeader(header);
  pieces_ = {Piece(header_out_),
             Piece(responses_out_.bytes + responses_out_.announced % kRingBytes, header.response_bytes),
             Piece(requests_out_.bytes + requests_out_.announced % kRingBytes, header.request_bytes)};
  first_piece_ = 0;
  responses_out_.announced += header.response_bytes;
  requests_out_.announced += header.request_bytes;
  told_ = header;
}

absl::Span<const Mirror::Piece> Mirror::PiecesToSend() {
  if (first_piece_ == kPiecesMax && demand() != Demand::kNone) BeginUpdate();
  return absl::MakeConstSpan(pieces_).subspan(first_piece_);
}

void Mirror::Sent(size_t bytes) {
  while (first_piece_ < kPiecesMax) {
    Piece& piece = pieces_[first_piece_];
    size_t count = std::min(bytes, piece.size());
    piece.remove_prefix(count);
    bytes -= count;
    if (!piece.empty()) return;
    ++first_piece_;
  }
}

}  // namespace verbena::soft
