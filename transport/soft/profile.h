// Device profiles: the attributes and the lacks of devices that programs meet, so that a program can be tried on each.
//
// $VERBENA_SOFT_PROFILE names one; without it the device does everything that it can. What a profile lacks is refused
// as that device's driver refuses it. A profile never promises more than this device has: the smaller of both numbers
// is granted and reported.
//
// Not played: what an iWARP device does differently on the wire. There a SEND is complete before the peer has taken
// it, a SEND without a receive ends the connection, and a WRITE with a bad key is reported to the peer only.
//
// Immutable. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_PROFILE_H_
#define VERBENA_TRANSPORT_SOFT_PROFILE_H_

#include <infiniband/verbs.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace verbena::soft {

struct Profile {
  absl::string_view name;

  // Limits.
  uint32_t work_requests_max;       // One send or receive queue.
  uint32_t segments_max;            // One work request.
  uint32_t read_segments_max;       // One READ.
  uint32_t inline_bytes_max;        // One work request; 0: it has no inline.
  uint32_t completion_entries_max;  // One completion queue.
  uint32_t reads_max;               // READs and atomics that a queue pair may have outstanding at its peer...
  uint32_t reads_served_max;        // ...and that its peer may have outstanding here.
  uint32_t shared_queues_max;       // 0: it has no shared receive queues.
  uint32_t shared_requests_max;     // One shared receive queue.
  uint32_t shared_segments_max;
  uint32_t message_bytes_max;

  // What it has.
  bool iwarp;           // An iWARP device: no receiver-not-ready, a READ's target must allow REMOTE_WRITE.
  bool memory_windows;  // Of type 2B, with which goes local invalidation.
  ibv_atomic_cap atomics;
  bool send_immediate;
  bool write_immediate;
  bool extended_posting;  // ibv_create_qp_ex with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS.
  bool extended_polling;  // ibv_create_cq_ex.
  bool resizable_queues;  // ibv_resize_cq.
  bool last_wqe_events;   // LAST_WQE_REACHED is raised for queue pairs with a shared receive queue.
  bool solicited_events;  // A completion queue armed for solicited completions only raises its event.

  // What posting a work request that the device does not have returns.
  int unknown_request_error;

  // 0, or what posting this request returns because the device cannot do it.
  int Refuses(const ibv_send_wr& request) const;
};

// All that there are, the one without a name first.
absl::Span<const Profile> AllProfiles();

// Null if there is none of that name.
const Profile* FindProfile(absl::string_view name);

// The one that the environment names. Null if it names none that is known; standard error says so, once.
const Profile* ProfileOfEnvironment();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PROFILE_H_
