// What a message between client and server is: the kind that the transport carries for the layer above. Values are part
// of the wire format (docs/wire.md).

#ifndef VERBENA_RPC_CORE_MESSAGE_KIND_H_
#define VERBENA_RPC_CORE_MESSAGE_KIND_H_

#include <cstdint>

namespace verbena::rpc {

enum class MessageKind : uint8_t {
  kRequest = 1,   // Client to server: request header; protobuf body and attachment.
  kResponse = 2,  // Server to client, at most one for a request: response header; protobuf body and attachment.
  kCancel = 3,    // Client to server: the client waits no longer. No header, no payload, no answer.
  // Server to client: make no new call on this connection. Client to server, in answer: none follows. No header, no
  // payload, no call id.
  kDrain = 4,
  // Of a call's streams, either way, with a stream header. Only a message has a payload: protobuf body and attachment.
  kStreamMessage = 5,
  kStreamEnd = 6,     // From the sender: no message follows. At the server just before its response.
  kStreamWindow = 7,  // From the receiver: up to where it takes messages.
  // Server to client, for a call that streams: its initial metadata, in the fields of a stream header. No payload.
  kInitialMetadata = 8,
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_MESSAGE_KIND_H_
