// Registered memory for attachments, under the public namespace: what stands in it crosses the wire without being
// copied on this side. See transport/payload_memory.h.

#ifndef VERBENA_RPC_PAYLOAD_H_
#define VERBENA_RPC_PAYLOAD_H_

#include "transport/payload_memory.h"

namespace verbena {

using transport::AllocatePayload;        // Memory to write into; ResourceExhausted past the process's limit.
using transport::PayloadMemory;          // What it returns; turned into an attachment by ToCord.
using transport::SetPayloadMemoryLimit;  // That limit, in bytes.

}  // namespace verbena

#endif  // VERBENA_RPC_PAYLOAD_H_
