// What the device must know of an opcode of ibv_post_send.

#ifndef VERBENA_TRANSPORT_SOFT_WORK_OPCODES_H_
#define VERBENA_TRANSPORT_SOFT_WORK_OPCODES_H_

#include <infiniband/verbs.h>

namespace verbena::soft {

constexpr bool IsRead(ibv_wr_opcode opcode) { return opcode == IBV_WR_RDMA_READ; }
constexpr bool IsWrite(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
constexpr bool IsAtomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
constexpr bool IsOneSided(ibv_wr_opcode opcode) { return IsRead(opcode) || IsWrite(opcode) || IsAtomic(opcode); }

// Whether it brings bytes from the responder into the local segments.
constexpr bool WantsAnswer(ibv_wr_opcode opcode) { return IsRead(opcode) || IsAtomic(opcode); }

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_WORK_OPCODES_H_
