#include "transport/soft/extended_poll.h"

#include <cerrno>
#include <ctime>

#include "transport/soft/c_boundary.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/control_io/forked_child.h"

namespace verbena::soft {
namespace {

uint64_t ReadClockNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Both clocks are read now: exact to the drift between them since then.
uint64_t WallClockNs(uint64_t device_time_ns) {
  return ReadClockNs(CLOCK_REALTIME) - (DeviceClockNs() - device_time_ns);
}

}  // namespace

uint64_t DeviceClockNs() { return ReadClockNs(CLOCK_MONOTONIC_RAW); }

ExtendedPoll::ExtendedPoll(CompletionQueue* queue, bool single_threaded)
    : queue_(queue), single_threaded_(single_threaded) {
  ibv_cq_ex* face = queue->extended();
  face->start_poll = Start;
  face->next_poll = Next;
  face->end_poll = End;
  InstallReaders(face);
}

ExtendedPoll& ExtendedPoll::Of(ibv_cq_ex* queue) {
  return *static_cast<CompletionQueue*>(CompletionQueue::BasicOf(queue))->extended_poll();
}

int ExtendedPoll::Start(ibv_cq_ex* queue, ibv_poll_cq_attr* attributes) {
  if (IsForkedChild()) return ENODEV;  // Without the lock, which another thread of the parent may have held.
  if (attributes->comp_mask != 0) return EINVAL;
  ExtendedPoll& self = Of(queue);
  if (!self.single_threaded_) self.walk_.lock();
  int error = self.Take();
  if (error != 0) End(queue);
  return error;
}

int ExtendedPoll::Next(ibv_cq_ex* queue) { return Of(queue).Take(); }

void ExtendedPoll::End(ibv_cq_ex* queue) {
  ExtendedPoll& self = Of(queue);
  if (!self.single_threaded_) self.walk_.unlock();
}

int ExtendedPoll::Take() {
  int taken = 0;
  int error = OrErrno([&] {
    taken = queue_->PollTimed(&current_, &time_ns_);
    return 0;
  });
  if (error != 0) return error;
  if (taken < 0) return -taken;
  if (taken == 0) return ENOENT;
  ibv_cq_ex* face = queue_->extended();
  face->wr_id = current_.wr_id;
  face->status = current_.status;
  return 0;
}

void ExtendedPoll::InstallReaders(ibv_cq_ex* queue) {
  queue->read_opcode = [](ibv_cq_ex* cq) { return Of(cq).current_.opcode; };
  queue->read_vendor_err = [](ibv_cq_ex* cq) { return Of(cq).current_.vendor_err; };
  queue->read_byte_len = [](ibv_cq_ex* cq) { return Of(cq).current_.byte_len; };
  queue->read_imm_data = [](ibv_cq_ex* cq) { return Of(cq).current_.imm_data; };  // Or the invalidated key.
  queue->read_qp_num = [](ibv_cq_ex* cq) { return Of(cq).current_.qp_num; };
  queue->read_src_qp = [](ibv_cq_ex* cq) { return Of(cq).current_.src_qp; };
  queue->read_wc_flags = [](ibv_cq_ex* cq) { return Of(cq).current_.wc_flags; };
  queue->read_slid = [](ibv_cq_ex* cq) { return uint32_t{Of(cq).current_.slid}; };
  queue->read_sl = [](ibv_cq_ex* cq) { return Of(cq).current_.sl; };
  queue->read_dlid_path_bits = [](ibv_cq_ex* cq) { return Of(cq).current_.dlid_path_bits; };
  queue->read_completion_ts = [](ibv_cq_ex* cq) { return Of(cq).time_ns_; };
  queue->read_completion_wallclock_ns = [](ibv_cq_ex* cq) { return WallClockNs(Of(cq).time_ns_); };
  queue->read_cvlan = [](ibv_cq_ex*) { return uint16_t{0}; };
  queue->read_flow_tag = [](ibv_cq_ex*) { return uint32_t{0}; };
  queue->read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* tag) { *tag = {}; };
}

}  // namespace verbena::soft
