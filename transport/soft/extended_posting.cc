#include "transport/soft/extended_posting.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/soft/c_boundary.h"
#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/queue_pair.h"

namespace verbena::soft {
namespace {

constexpr unsigned kFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_IP_CSUM;

}  // namespace

ExtendedPosting::ExtendedPosting(QueuePair* queue_pair, const ibv_qp_cap& capacity, uint64_t operations)
    : queue_pair_(queue_pair),
      requests_max_(capacity.max_send_wr),
      segments_max_(std::max(capacity.max_send_sge, 1u)),
      inline_bytes_max_(capacity.max_inline_data),
      requests_(requests_max_ + 1),
      segments_(requests_.size() * segments_max_),
      inline_bytes_(requests_.size() * inline_bytes_max_) {
  ibv_qp_ex* face = queue_pair->extended();
  face->wr_start = [](ibv_qp_ex* qp) { Of(qp).Start(); };
  face->wr_complete = [](ibv_qp_ex* qp) { return Of(qp).Complete(); };
  face->wr_abort = [](ibv_qp_ex* qp) { Of(qp).Abort(); };
  InstallSetters(face);
  InstallMessages(face, operations);
  InstallRemoteAccess(face, operations);
  InstallWindows(face, operations);
}

ExtendedPosting& ExtendedPosting::Of(ibv_qp_ex* queue_pair) {
  return *static_cast<QueuePair*>(QueuePair::BasicOf(queue_pair))->extended_posting();
}

void ExtendedPosting::InstallSetters(ibv_qp_ex* queue_pair) {
  queue_pair->wr_set_sge = [](ibv_qp_ex* qp, uint32_t key, uint64_t address, uint32_t length) {
    ibv_sge segment = {.addr = address, .length = length, .lkey = key};
    Of(qp).SetSegments({&segment, 1});
  };
  queue_pair->wr_set_sge_list = [](ibv_qp_ex* qp, size_t count, const ibv_sge* segments) {
    Of(qp).SetSegments({segments, count});
  };
  queue_pair->wr_set_inline_data = [](ibv_qp_ex* qp, void* address, size_t length) {
    ibv_data_buf buffer = {.addr = address, .length = length};
    Of(qp).SetInline({&buffer, 1});
  };
  queue_pair->wr_set_inline_data_list = [](ibv_qp_ex* qp, size_t count, const ibv_data_buf* buffers) {
    Of(qp).SetInline({buffers, count});
  };
}

void ExtendedPosting::InstallMessages(ibv_qp_ex* queue_pair, uint64_t operations) {
  if ((operations & IBV_QP_EX_WITH_SEND) != 0) {
    queue_pair->wr_send = [](ibv_qp_ex* qp) { Of(qp).Begin(qp, IBV_WR_SEND); };
  }
  if ((operations & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0) {
    queue_pair->wr_send_imm = [](ibv_qp_ex* qp, __be32 immediate) {
      Of(qp).Begin(qp, IBV_WR_SEND_WITH_IMM).imm_data = immediate;
    };
  }
  if ((operations & IBV_QP_EX_WITH_SEND_WITH_INV) != 0) {
    queue_pair->wr_send_inv = [](ibv_qp_ex* qp, uint32_t key) {
      Of(qp).Begin(qp, IBV_WR_SEND_WITH_INV).invalidate_rkey = key;
    };
  }
}

void ExtendedPosting::InstallRemoteAccess(ibv_qp_ex* queue_pair, uint64_t operations) {
  if ((operations & IBV_QP_EX_WITH_RDMA_READ) != 0) {
    queue_pair->wr_rdma_read = [](ibv_qp_ex* qp, uint32_t key, uint64_t address) {
      Of(qp).BeginRemote(qp, IBV_WR_RDMA_READ, key, address, 0);
    };
  }
  if ((operations & IBV_QP_EX_WITH_RDMA_WRITE) != 0) {
    queue_pair->wr_rdma_write = [](ibv_qp_ex* qp, uint32_t key, uint64_t address) {
      Of(qp).BeginRemote(qp, IBV_WR_RDMA_WRITE, key, address, 0);
    };
  }
  if ((operations & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0) {
    queue_pair->wr_rdma_write_imm = [](ibv_qp_ex* qp, uint32_t key, uint64_t address, __be32 immediate) {
      Of(qp).BeginRemote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, key, address, immediate);
    };
  }
  if ((operations & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) != 0) {
    queue_pair->wr_atomic_cmp_swp = [](ibv_qp_ex* qp, uint32_t key, uint64_t address, uint64_t compare, uint64_t swap) {
      Of(qp).BeginAtomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, key, address, compare, swap);
    };
  }
  if ((operations & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) != 0) {
    queue_pair->wr_atomic_fetch_add = [](ibv_qp_ex* qp, uint32_t key, uint64_t address, uint64_t add) {
      Of(qp).BeginAtomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address, add, 0);
    };
  }
}

void ExtendedPosting::InstallWindows(ibv_qp_ex* queue_pair, uint64_t operations) {
  if ((operations & IBV_QP_EX_WITH_LOCAL_INV) != 0) {
    queue_pair->wr_local_inv = [](ibv_qp_ex* qp, uint32_t key) {
      Of(qp).Begin(qp, IBV_WR_LOCAL_INV).invalidate_rkey = key;
    };
  }
  if ((operations & IBV_QP_EX_WITH_BIND_MW) != 0) {
    queue_pair->wr_bind_mw = [](ibv_qp_ex* qp, ibv_mw* window, uint32_t key, const ibv_mw_bind_info* bind) {
      Of(qp).Begin(qp, IBV_WR_BIND_MW).bind_mw = {.mw = window, .rkey = key, .bind_info = *bind};
    };
  }
}

void ExtendedPosting::Start() {
  if (IsForkedChild()) return;
  building_.lock();
  count_ = 0;
  error_ = 0;
}

int ExtendedPosting::Complete() {
  if (IsForkedChild()) return ENODEV;
  int error = error_;
  if (error == 0 && count_ != 0) {
    error = OrErrno([this] { return queue_pair_->PostSendWhole({requests_.data(), count_}); });
  }
  building_.unlock();
  return error;
}

void ExtendedPosting::Abort() {
  if (!IsForkedChild()) building_.unlock();
}

ibv_send_wr& ExtendedPosting::Begin(ibv_qp_ex* face, ibv_wr_opcode opcode) {
  if (count_ == requests_max_) {
    Fail(ENOMEM);
    return requests_.back();
  }
  ibv_send_wr& request = requests_[count_++];
  request = {};
  request.wr_id = face->wr_id;
  request.opcode = opcode;
  request.send_flags = face->wr_flags & kFlags;
  return request;
}

void ExtendedPosting::BeginRemote(ibv_qp_ex* face, ibv_wr_opcode opcode, uint32_t key, uint64_t address,
                                  uint32_t immediate) {
  ibv_send_wr& request = Begin(face, opcode);
  request.imm_data = immediate;
  request.wr.rdma = {.remote_addr = address, .rkey = key};
}

void ExtendedPosting::BeginAtomic(ibv_qp_ex* face, ibv_wr_opcode opcode, uint32_t key, uint64_t address,
                                  uint64_t compare_add, uint64_t swap) {
  Begin(face, opcode).wr.atomic = {.remote_addr = address, .compare_add = compare_add, .swap = swap, .rkey = key};
}

void ExtendedPosting::SetSegments(absl::Span<const ibv_sge> segments) {
  if (count_ == 0 || segments.size() > segments_max_) return Fail(EINVAL);
  ibv_sge* own = &segments_[size_t{count_ - 1} * segments_max_];
  std::copy(segments.begin(), segments.end(), own);
  requests_[count_ - 1].sg_list = own;
  requests_[count_ - 1].num_sge = static_cast<int>(segments.size());
}

void ExtendedPosting::SetInline(absl::Span<const ibv_data_buf> buffers) {
  if (count_ == 0) return Fail(EINVAL);
  size_t offset = size_t{count_ - 1} * inline_bytes_max_;
  size_t length = 0;
  for (const ibv_data_buf& buffer : buffers) {
    if (buffer.length > inline_bytes_max_ - length) return Fail(EINVAL);
    if (buffer.length != 0) std::memcpy(&inline_bytes_[offset + length], buffer.addr, buffer.length);
    length += buffer.length;
  }
  requests_[count_ - 1].send_flags |= IBV_SEND_INLINE;
  if (length == 0) return;
  ibv_sge segment = {
      .addr = reinterpret_cast<uint64_t>(&inline_bytes_[offset]), .length = static_cast<uint32_t>(length), .lkey = 0};
  SetSegments({&segment, 1});
}

}  // namespace verbena::soft
