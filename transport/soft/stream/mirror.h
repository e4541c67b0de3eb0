// Plays the far end of a link in local memory, given a stream of bytes to and from another mirror that does the same.
//
// Our queue pair is end 0 of a PairMemory of its own and does not know that nobody shares it. The mirror is end 1. It
// turns what our end adds to its rings and changes in its lines into updates (update.h) for the stream, and writes what
// comes from there into end 1's rings and lines, as the far queue pair would have done. Each of our rings holds a byte
// until the far end's reader has consumed its copy, so what is sent never exceeds the room there, and the far writer is
// held to the same.
//
// Sans-IO. The driver hands in what it read, at any cut, and writes what PiecesToSend offers:
//   from the stream:  Receive(bytes)...                          then let the queue pair look at its memory
//   to the stream:    while demand(): PiecesToSend -> write -> Sent(how much of it was written)
//
// Trust: our end's memory is ours alone; everything from the stream is checked, here as far as the mirror relies on it,
// and like any peer's words by the queue pair. Once Receive failed the stream is void.
//
// Owner: the wire of a queue pair. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_MIRROR_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_MIRROR_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "transport/soft/shared_layout.h"
#include "transport/soft/stream/update.h"

namespace verbena::soft {

class Mirror {
 public:
  // `memory` is fresh, but for what our end may have written; it outlives the mirror.
  explicit Mirror(PairMemory* memory);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Takes in what came. False: the far end broke the rules.
  bool Receive(absl::Span<const std::byte> bytes);

  // Nothing more will come: end 1 is closed from now on.
  void ReceiveEnd();

  // How badly our end has something to say.
  enum class Demand {
    kNone,
    kLater,  // Only that it took something in: may wait for company, but not for ever.
    kNow,
  };
  Demand demand() const;

  // What to write next, in order: the rest of the update in progress, or a new one if there is a demand. Bytes stay
  // where they are until the next call of PiecesToSend or Sent.
  static constexpr size_t kPiecesMax = 3;
  using Piece = absl::Span<const std::byte>;
  absl::Span<const Piece> PiecesToSend();
  // That many bytes of these were written.
  void Sent(size_t bytes);

 private:
  // A ring that our end writes.
  struct OutgoingRing {
    const std::byte* bytes;
    const RingTail* tail;
    RingHead* head;          // The far reader's, mirrored.
    uint64_t announced = 0;  // Bytes in updates that were begun.
  };
  // A ring that our end reads.
  struct IncomingRing {
    std::byte* bytes;
    RingTail* tail;  // The far writer's, mirrored.
    const RingHead* head;
    uint64_t received = 0;
  };

  UpdateHeader CurrentState() const;
  void BeginUpdate();
  bool BeginReceiving();
  void FinishReceiving();
  static bool HasRoom(const IncomingRing& ring, uint32_t bytes);

  EndControl& own_;
  EndControl& far_;

  OutgoingRing requests_out_;
  OutgoingRing responses_out_;
  UpdateHeader told_;  // The newest header that was begun.
  UpdateHeaderBytes header_out_;
  std::array<Piece, kPiecesMax> pieces_;  // What is left of the update in progress.
  size_t first_piece_ = kPiecesMax;

  IncomingRing requests_in_;
  IncomingRing responses_in_;
  UpdateHeaderBytes header_in_;
  size_t header_in_bytes_ = 0;
  UpdateHeader heard_;                // The newest complete header.
  uint32_t response_bytes_left_ = 0;  // Of the update that is being received.
  uint32_t request_bytes_left_ = 0;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_MIRROR_H_
