// A queue pair's wire over a TCP stream: a mirror, and the reading and writing of the socket for it.
//
// System calls are few: a Pull is one read unless more waits than that takes, a Push is one write for all that a
// posting or a turn brought. Acceptances ride along with the next message; those that nobody follows go out after the
// second turn that found nothing, before the application sleeps in ibv_get_cq_event, or when the attendant next looks.
//
// The attendant (wire_attendant.h) makes progress when the application does not look.
//
// Owner: the link. Thread: as wire.h.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_STREAM_WIRE_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_STREAM_WIRE_H_

#include <cstdint>
#include <memory>

#include "transport/soft/shared_mapping.h"
#include "transport/soft/stream/mirror.h"
#include "transport/soft/stream/stream.h"
#include "transport/soft/stream/wire_attendant.h"
#include "transport/soft/wire.h"

namespace verbena::soft {

class StreamWire final : public Wire {
 public:
  // `memory` is the pair's, of which the queue pair is end 0. `attended` is already looked after.
  StreamWire(std::shared_ptr<SharedMapping> memory, std::shared_ptr<Stream> stream,
             std::shared_ptr<AttendedWire> attended);

  ~StreamWire() override;

  bool Pull(Reach reach) override;
  bool Push(Haste haste) override;
  void Close() override;
  void SetPatience(std::chrono::microseconds patience) override;
  int descriptor() const override { return stream_->fd(); }
  uint32_t awaited_events() const override;

 private:
  void End();
  bool WriteAll();
  bool AllSaid();

  const std::shared_ptr<SharedMapping> memory_;
  const std::shared_ptr<Stream> stream_;
  const std::shared_ptr<AttendedWire> attended_;
  Mirror mirror_;
  int quiet_pulls_ = 0;        // In a row.
  bool input_ended_ = false;   // Nothing more will come.
  bool output_ended_ = false;  // Nothing more can be written.
  bool closed_ = false;        // Nothing new will be said.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_STREAM_WIRE_H_
