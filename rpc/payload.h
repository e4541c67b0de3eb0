// Registered memory for attachments, under the public namespace: what stands in it crosses the wire without being
// copied on this side. See transport/payload_memory.h for memory of Verbena's, transport/registered_memory.h for one's
// own, and docs/payload.md for what is copied on which path.

#ifndef VERBENA_RPC_PAYLOAD_H_
#define VERBENA_RPC_PAYLOAD_H_

#include "transport/payload_memory.h"
#include "transport/registered_memory.h"

namespace verbena {

using transport::AllocatePayload;             // Memory to write into; ResourceExhausted past the process's limit.
using transport::kPayloadMemoryLimitDefault;  // The process's limit, in bytes, until it is set.
using transport::PayloadMemory;               // What it returns; turned into an attachment by ToCord.
using transport::RegisteredMemory;            // What RegisterMemory returns; any part of it becomes a Cord by ToCord.
using transport::RegisterMemory;              // Memory of one's own; registered once, sent by reference.
using transport::SetPayloadMemoryLimit;       // That limit, in bytes.

}  // namespace verbena

#endif  // VERBENA_RPC_PAYLOAD_H_
