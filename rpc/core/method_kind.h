// Which sides of a method send one message and which send a stream of them. Values are part of the wire format
// (docs/wire.md, "Call headers").

#ifndef VERBENA_RPC_CORE_METHOD_KIND_H_
#define VERBENA_RPC_CORE_METHOD_KIND_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace verbena {

enum class MethodKind : uint8_t {
  kUnary = 0,            // One request, one reply.
  kClientStreaming = 1,  // A stream of requests, one reply.
  kServerStreaming = 2,  // One request, a stream of replies.
  kBidiStreaming = 3,    // A stream each way, independent of each other.
};

inline constexpr uint8_t kMethodKindMax = static_cast<uint8_t>(MethodKind::kBidiStreaming);

inline constexpr bool ClientStreams(MethodKind kind) { return (static_cast<uint8_t>(kind) & 1) != 0; }
inline constexpr bool ServerStreams(MethodKind kind) { return (static_cast<uint8_t>(kind) & 2) != 0; }

// "unary", "client-streaming", "server-streaming", "bidirectional-streaming".
inline constexpr absl::string_view ToString(MethodKind kind) {
  switch (kind) {
    case MethodKind::kUnary:
      return "unary";
    case MethodKind::kClientStreaming:
      return "client-streaming";
    case MethodKind::kServerStreaming:
      return "server-streaming";
    case MethodKind::kBidiStreaming:
      return "bidirectional-streaming";
  }
  return "unknown";
}

}  // namespace verbena

#endif  // VERBENA_RPC_CORE_METHOD_KIND_H_
