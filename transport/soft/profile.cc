#include "transport/soft/profile.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "transport/soft/receive_queue.h"
#include "transport/soft/record.h"
#include "transport/soft/segments.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kWorkRequestsMax = 32768;         // One send or receive queue.
constexpr uint32_t kCompletionEntriesMax = 1 << 20;  // One completion queue.
constexpr uint32_t kInlineBytesMax = 1024;           // One work request.
constexpr uint32_t kReadsMax = 128;                  // One queue pair.

// Everything that this device can do. Its atomics are the processor's, so other processes see them as such too.
constexpr Profile kEverything = {
    .name = "",
    .work_requests_max = kWorkRequestsMax,
    .segments_max = kSegmentsMax,
    .read_segments_max = kSegmentsMax,
    .inline_bytes_max = kInlineBytesMax,
    .completion_entries_max = kCompletionEntriesMax,
    .reads_max = kReadsMax,
    .reads_served_max = kReadsMax,
    .shared_queues_max = kQueuePairsMax,
    .shared_requests_max = kWorkRequestsMax,
    .shared_segments_max = kSegmentsMax,
    .message_bytes_max = kMessageBytesMax,
    .iwarp = false,
    .memory_windows = true,
    .atomics = IBV_ATOMIC_GLOB,
    .send_immediate = true,
    .write_immediate = true,
    .extended_posting = true,
    .extended_polling = true,
    .resizable_queues = true,
    .last_wqe_events = true,
    .solicited_events = true,
    .unknown_request_error = EINVAL,
};

// ConnectX: what ibv_devinfo -v reports on a ConnectX-5, and rdma-core's providers/mlx5.
constexpr Profile Mlx5() {
  Profile profile = kEverything;
  profile.name = "mlx5";
  profile.segments_max = 30;
  profile.read_segments_max = 30;
  profile.inline_bytes_max = 828;
  profile.completion_entries_max = 4194303;
  profile.reads_max = 16;
  profile.reads_served_max = 16;
  profile.shared_requests_max = 32767;
  profile.shared_segments_max = 31;
  profile.atomics = IBV_ATOMIC_HCA;
  return profile;
}

// Intel X722, an iWARP device and the smaller of those that irdma drives: Linux drivers/infiniband/hw/irdma
// (i40iw_hw.h, irdma_query_device and irdma_create_qp in verbs.c) and rdma-core's providers/irdma, whose table of
// operations has no shared receive queue and no extended posting. Its memory windows are of type 1 only.
constexpr Profile Irdma() {
  Profile profile = kEverything;
  profile.name = "irdma";
  profile.work_requests_max = 895;
  profile.segments_max = 3;
  profile.read_segments_max = 1;
  profile.inline_bytes_max = 48;
  profile.completion_entries_max = 1048574;
  profile.reads_max = 127;
  profile.reads_served_max = 63;
  profile.shared_queues_max = 0;
  profile.shared_requests_max = 0;
  profile.shared_segments_max = 0;
  profile.iwarp = true;
  profile.memory_windows = false;
  profile.atomics = IBV_ATOMIC_NONE;
  profile.send_immediate = false;
  profile.extended_posting = false;
  profile.resizable_queues = false;
  return profile;
}

// Soft-RoCE of Linux 6.1: drivers/infiniband/sw/rxe/rxe_param.h, and what ibv_devinfo -v and runs of the kernel's own
// device say. It raises no LAST_WQE_REACHED.
constexpr Profile Rxe() {
  Profile profile = kEverything;
  profile.name = "rxe";
  profile.work_requests_max = 1 << 20;
  profile.segments_max = 32;
  profile.read_segments_max = 32;
  profile.inline_bytes_max = 512;
  profile.completion_entries_max = 32767;
  profile.shared_queues_max = 917503;
  profile.shared_requests_max = 1 << 20;
  profile.shared_segments_max = 27;
  profile.message_bytes_max = 8 << 20;
  profile.atomics = IBV_ATOMIC_HCA;
  profile.last_wqe_events = false;
  return profile;
}

// Soft-iWARP: drivers/infiniband/sw/siw (siw.h, siw_verbs.c), rdma-core's providers/siw, whose post functions return
// negative values and map no operation but SEND, SEND with invalidate, WRITE and READ; and runs of the kernel's own
// device, where completion queues armed for solicited completions raise no event.
constexpr Profile Siw() {
  Profile profile = kEverything;
  profile.name = "siw";
  profile.segments_max = 6;
  profile.read_segments_max = 1;
  profile.inline_bytes_max = 80;
  profile.completion_entries_max = 3276800;
  profile.shared_requests_max = 327680;
  profile.shared_segments_max = 6;
  profile.iwarp = true;
  profile.memory_windows = false;
  profile.atomics = IBV_ATOMIC_NONE;
  profile.send_immediate = false;
  profile.write_immediate = false;
  profile.extended_posting = false;
  profile.extended_polling = false;
  profile.resizable_queues = false;
  profile.last_wqe_events = false;
  profile.solicited_events = false;
  profile.unknown_request_error = -EINVAL;
  return profile;
}

bool Has(const Profile& profile, ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND_WITH_IMM:
      return profile.send_immediate;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return profile.write_immediate;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return profile.atomics != IBV_ATOMIC_NONE;
    case IBV_WR_BIND_MW:
    case IBV_WR_LOCAL_INV:
      return profile.memory_windows;
    default:
      return true;
  }
}

// The profile as far as this device goes.
constexpr Profile Within(Profile profile) {
  auto limit = [](uint32_t& value, uint32_t own) { value = std::min(value, own); };
  limit(profile.work_requests_max, kEverything.work_requests_max);
  limit(profile.segments_max, kEverything.segments_max);
  limit(profile.read_segments_max, kEverything.read_segments_max);
  limit(profile.inline_bytes_max, kEverything.inline_bytes_max);
  limit(profile.completion_entries_max, kEverything.completion_entries_max);
  limit(profile.reads_max, kEverything.reads_max);
  limit(profile.reads_served_max, kEverything.reads_served_max);
  limit(profile.shared_queues_max, kEverything.shared_queues_max);
  limit(profile.shared_requests_max, kEverything.shared_requests_max);
  limit(profile.shared_segments_max, kEverything.shared_segments_max);
  limit(profile.message_bytes_max, kEverything.message_bytes_max);
  return profile;
}

constexpr std::array kProfiles = {Within(kEverything), Within(Mlx5()), Within(Irdma()), Within(Rxe()), Within(Siw())};

void ExplainUnknown(absl::string_view name) {
  std::string message = absl::StrCat("verbena: VERBENA_SOFT_PROFILE=", name, " names no device profile; there are");
  for (const Profile& profile : kProfiles) {
    if (!profile.name.empty()) absl::StrAppend(&message, " ", profile.name);
  }
  absl::StrAppend(&message, ", and without the variable the device lacks nothing\n");
  std::fputs(message.c_str(), stderr);
}

}  // namespace

int Profile::Refuses(const ibv_send_wr& request) const {
  if (name.empty()) return 0;
  if (!Has(*this, request.opcode)) return unknown_request_error;
  if (request.opcode == IBV_WR_RDMA_READ && request.num_sge > static_cast<int>(read_segments_max)) return EINVAL;
  auto segments = static_cast<size_t>(std::max(request.num_sge, 0));
  return TotalBytes({request.sg_list, segments}) > message_bytes_max ? EINVAL : 0;
}

absl::Span<const Profile> AllProfiles() { return kProfiles; }

const Profile* FindProfile(absl::string_view name) {
  auto found = std::find_if(kProfiles.begin(), kProfiles.end(), [&](const Profile& each) { return each.name == name; });
  return found == kProfiles.end() ? nullptr : &*found;
}

const Profile* ProfileOfEnvironment() {
  const char* value = std::getenv("VERBENA_SOFT_PROFILE");
  absl::string_view name = value == nullptr ? "" : value;
  const Profile* profile = FindProfile(name);
  static std::once_flag explained;
  if (profile == nullptr) std::call_once(explained, [&] { ExplainUnknown(name); });
  return profile;
}

}  // namespace verbena::soft
