// The messages that two connection managers exchange over a control socket, and their codec.
//
//   active:  REQUEST ->             passive
//                       <- REPLY or REJECT
//            READY_TO_USE ->
//
// Then nothing: the end of the socket is the end of the connection, whether its owner disconnected or died. Integers
// are little-endian, since the ends may be on different hosts; the version guards against builds of another age.
//
// Pure: no sockets. What is decoded came from another process and is checked here completely; file descriptors travel
// beside a message (cm_socket.h). Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_CM_MESSAGE_H_
#define VERBENA_TRANSPORT_SOFT_CM_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/soft/cm_address.h"
#include "transport/soft/link.h"

namespace verbena::soft {

enum class MessageType : uint8_t { kRequest = 1, kReply = 2, kReadyToUse = 3, kReject = 4 };

// Bytes of private data that a message has room for, as InfiniBand's messages for RDMA_PS_TCP (rdma_connect(3),
// rdma_accept(3), rdma_reject(3)). READY_TO_USE has none.
inline constexpr size_t kRequestPrivateDataMax = 56;
inline constexpr size_t kReplyPrivateDataMax = 196;
inline constexpr size_t kRejectPrivateDataMax = 148;
size_t PrivateDataMax(MessageType type);

// Why a connection was rejected: the InfiniBand specification's reasons, table 111.
inline constexpr uint8_t kRejectNoResources = 3;
inline constexpr uint8_t kRejectTimeout = 4;  // The active side gave up.
inline constexpr uint8_t kRejectNoListener = 8;
inline constexpr uint8_t kRejectConsumer = 28;  // The peer's program said no.
inline constexpr uint8_t kRejectEce = 35;       // The peer's program does not want our ECE options.

// Retry counts are three bits wide; this one, of receiver-not-ready, stands for no end of it.
inline constexpr uint8_t kRetryCountMax = 7;
inline constexpr uint8_t kRetryForEver = kRetryCountMax;

// rdma_conn_param without its pointer.
struct ConnectionParameters {
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t flow_control = 0;
  uint8_t retry_count = 0;
  uint8_t rnr_retry_count = 0;
  uint8_t srq = 0;
  uint32_t qp_num = 0;
};

struct PrivateData {
  uint8_t length = 0;  // Bytes used.
  std::array<std::byte, kReplyPrivateDataMax> bytes = {};

  absl::Span<const std::byte> span() const { return {bytes.data(), length}; }
};

struct CmMessage {
  MessageType type = MessageType::kRequest;
  uint8_t reject_reason = 0;        // REJECT only.
  ConnectionParameters parameters;  // REQUEST and REPLY.
  SocketAddress source;             // REQUEST only.
  SocketAddress destination;        // REQUEST only.
  PrivateData private_data;
  std::vector<std::byte> offer;  // REQUEST and REPLY: LinkOffer::bytes, not looked into.
};

// Bytes of the longest message.
inline constexpr size_t kCmMessageBytesMax = 72 + kReplyPrivateDataMax + kLinkOfferBytesMax;

// `message` keeps the limits above (our own, so asserted).
std::vector<std::byte> EncodeMessage(const CmMessage& message);

// InvalidArgument, with what is wrong, for anything that EncodeMessage could not have written.
absl::StatusOr<CmMessage> DecodeMessage(absl::Span<const std::byte> bytes);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_MESSAGE_H_
