#include "benchmarks/yardstick/raw_send.h"

namespace verbena::benchmarks {
namespace {

// wr_id, which receives and READs do not have.
constexpr uint64_t kSend = UINT64_MAX - 1;
constexpr uint64_t kLastSend = UINT64_MAX - 2;

}  // namespace

absl::Status PostRawSend(verbs::QueuePair& queue_pair, ibv_sge area, uint32_t* sends, bool last) {
  ibv_send_wr request = {};
  request.wr_id = last ? kLastSend : kSend;
  request.sg_list = &area;
  request.num_sge = last ? 0 : 1;
  request.opcode = IBV_WR_SEND;
  if (++*sends % kRawSignalEvery == 0 || last) request.send_flags |= IBV_SEND_SIGNALED;
  if (area.length <= queue_pair.inline_bytes_max()) request.send_flags |= IBV_SEND_INLINE;
  ibv_send_wr* first_unposted = nullptr;
  return queue_pair.PostSends(&request, &first_unposted);
}

bool IsLastRawMessage(const ibv_wc& completion) {
  return completion.wr_id == kLastSend || ((completion.opcode & IBV_WC_RECV) != 0 && completion.byte_len == 0);
}

}  // namespace verbena::benchmarks
