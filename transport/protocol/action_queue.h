// The actions that wait to be taken by the driver, in order.

#ifndef VERBENA_TRANSPORT_PROTOCOL_ACTION_QUEUE_H_
#define VERBENA_TRANSPORT_PROTOCOL_ACTION_QUEUE_H_

#include "transport/protocol/actions.h"
#include "transport/protocol/ring.h"

namespace verbena::protocol {

using ActionQueue = Ring<Action>;

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_ACTION_QUEUE_H_
