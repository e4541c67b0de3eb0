// Where payload memory is mapped: as MemoryMapper::OfSystem, but ordinary pages as the device would have them
// (VerbsApi::map_memory) that is in use; before any is, as the one that an address without a scheme would lead to.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_PAYLOAD_MAPPER_H_
#define VERBENA_TRANSPORT_PAYLOAD_MAPPER_H_

#include "transport/mapped_memory.h"

namespace verbena::transport {

// Never destroyed.
MemoryMapper& PayloadMapper();

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_PAYLOAD_MAPPER_H_
