// The extended way to post to a send queue: ibv_wr_start, the work request builders and setters, ibv_wr_complete and
// ibv_wr_abort.
//
// Builders fill ordinary work requests, in order, in memory set aside when the queue pair was made. Completing posts
// them all by the same way as ibv_post_send, with one doorbell, or posts none: what a builder or setter finds wrong,
// or the send queue has no room for, is the result of ibv_wr_complete. Inline bytes are copied by their setter.
//
// Bounded: at most the send queue's capacity between start and complete.
//
// Owner: the queue pair, which must have been made with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS. Thread: any; between start and
// complete or abort other threads wait in start.

#ifndef VERBENA_TRANSPORT_SOFT_EXTENDED_POSTING_H_
#define VERBENA_TRANSPORT_SOFT_EXTENDED_POSTING_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/types/span.h"

namespace verbena::soft {

class QueuePair;

// Operations that can be asked for with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS.
inline constexpr uint64_t kSendOperationsKnown = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                                 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                                 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                                 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                                                 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

class ExtendedPosting {
 public:
  // Fills the functions of `queue_pair`'s ibv_qp_ex: setters, and the builders of `operations`; the others stay absent.
  ExtendedPosting(QueuePair* queue_pair, const ibv_qp_cap& capacity, uint64_t operations);
  ExtendedPosting(const ExtendedPosting&) = delete;
  ExtendedPosting& operator=(const ExtendedPosting&) = delete;

 private:
  static ExtendedPosting& Of(ibv_qp_ex* queue_pair);
  static void InstallSetters(ibv_qp_ex* queue_pair);
  static void InstallMessages(ibv_qp_ex* queue_pair, uint64_t operations);
  static void InstallRemoteAccess(ibv_qp_ex* queue_pair, uint64_t operations);
  static void InstallWindows(ibv_qp_ex* queue_pair, uint64_t operations);

  void Start();
  int Complete();
  void Abort();

  // The next request, with `wr_id` and `wr_flags` as the program has set them.
  ibv_send_wr& Begin(ibv_qp_ex* face, ibv_wr_opcode opcode);
  void BeginRemote(ibv_qp_ex* face, ibv_wr_opcode opcode, uint32_t key, uint64_t address, uint32_t immediate);
  void BeginAtomic(ibv_qp_ex* face, ibv_wr_opcode opcode, uint32_t key, uint64_t address, uint64_t compare_add,
                   uint64_t swap);

  // For the request begun last.
  void SetSegments(absl::Span<const ibv_sge> segments);
  void SetInline(absl::Span<const ibv_data_buf> buffers);

  void Fail(int error) { error_ = error_ == 0 ? error : error_; }

  QueuePair* const queue_pair_;
  const uint32_t requests_max_;
  const uint32_t segments_max_;  // Of one request.
  const uint32_t inline_bytes_max_;

  std::mutex building_;  // Held from start to complete or abort; what follows is its holder's.
  int error_ = 0;        // The first one found.
  uint32_t count_ = 0;   // Requests begun.
  // One place more than may be posted: what is begun beyond that has failed, and goes there.
  std::vector<ibv_send_wr> requests_;
  std::vector<ibv_sge> segments_;        // segments_max_ for each request.
  std::vector<std::byte> inline_bytes_;  // inline_bytes_max_ for each request.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_EXTENDED_POSTING_H_
