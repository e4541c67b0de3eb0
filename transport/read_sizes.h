// How large messages are fetched through a device: in READs of what size, how many at a time.
//
// The program says (TransportOptions), or the device's rate, which is that of its slowest port of those that were
// active when it was opened, and taken for 100 Gbit/s if none was: a READ takes the port some 20 us, which a small
// message is not held up by for long, and beside which an answer and a completion for each READ are little. That is 256
// KiB at 100 Gbit/s, and no less where a port is slower; at 400 it is 1 MiB. So many READs and so many bytes are under
// way that the port has work while the completion of one is on its way to the program.

#ifndef VERBENA_TRANSPORT_READ_SIZES_H_
#define VERBENA_TRANSPORT_READ_SIZES_H_

#include <cstdint>

#include "transport/endpoint.h"
#include "transport/verbs/device.h"

namespace verbena::transport {

struct ReadSizes {
  uint32_t chunk_bytes = 0;   // Of one READ, at most; the device takes it.
  uint16_t depth = 0;         // READs of one connection in flight, at most; at least 1, and the device has them.
  uint64_t window_bytes = 0;  // Of large messages, what a loop fetches at a time.
};

// What `options` (valid: CheckOptions) ask for as far as `device` can; where they leave it to the device, by its rate.
ReadSizes ChooseReadSizes(const TransportOptions& options, const verbs::Device& device);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_READ_SIZES_H_
