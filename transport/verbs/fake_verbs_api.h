// A test double of the verbs table: no device at all, every call recorded, any call made to fail.
//
// Calls are named as the table's entries ("create_cq"; "post_send" and the like for the data path). Objects are plain
// memory, counted: destroying one twice, or with a call of another kind, fails the test at once, and so does an object
// that is left when the fake goes. One fake at a time, on one thread: a table of plain functions has nowhere to keep
// more.

#ifndef VERBENA_TRANSPORT_VERBS_FAKE_VERBS_API_H_
#define VERBENA_TRANSPORT_VERBS_FAKE_VERBS_API_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

class FakeVerbs {
 public:
  FakeVerbs();
  FakeVerbs(const FakeVerbs&) = delete;
  FakeVerbs& operator=(const FakeVerbs&) = delete;
  ~FakeVerbs();

  const VerbsApi& api() const;
  ibv_context* context() { return &context_; }  // The one device's context, open for as long as the fake.

  // The next call of this name fails with `error_number`, by its own convention; `times` calls do.
  void Fail(const std::string& call, int error_number, int times = 1) { failures_[call] = {error_number, times}; }
  int CountOf(absl::string_view call) const;
  // What was destroyed, in order: "pd", "region", "cq", …
  const std::vector<std::string>& destroyed() const { return destroyed_; }

  // For the table's functions. Records the call; the errno that it shall fail with, or 0.
  int Begin(const char* call);
  void Add(void* object, const char* kind) { live_.insert({object, kind}); }
  void Remove(void* object, const char* kind);

  // The world, as the test sets it up.
  ibv_device device = {};
  ibv_device_attr device_attributes = {};
  ibv_port_attr port_attributes = {};
  int descriptor = -1;                       // What channels get as theirs; a dup of it. -1: an invalid one.
  uint32_t inline_bytes_max = 64;            // More is EINVAL.
  uint32_t granted_receives = 0;             // What create_srq grants; 0: as wished.
  std::deque<rdma_cm_event> cm_events;       // Served by cm_get_event; the acknowledged ones are counted.
  std::deque<ibv_async_event> async_events;  // Served by get_async_event.
  std::deque<ibv_cq*> completion_events;     // Served by get_cq_event.
  std::deque<ibv_wc> completions;            // Served by poll_cq.
  std::deque<uint64_t> srq_receives;         // Work requests of post_srq_recv, oldest first, for the test to take out.

  // What was last asked for.
  int completion_vector = -1;                       // Of create_cq.
  unsigned int acknowledged_completion_events = 0;  // In all.
  ibv_qp_attr modified_queue_pair = {};
  int modified_queue_pair_mask = 0;
  uint32_t srq_limit = 0;
  rdma_conn_param connect_parameters = {};
  std::string private_data;
  std::pair<int, std::string> option;  // Name and bytes.
  int resolve_timeout_ms = 0;

 private:
  std::vector<std::string> calls_;
  std::vector<std::string> destroyed_;
  std::map<std::string, std::pair<int, int>> failures_;
  std::set<std::pair<void*, std::string>> live_;
  ibv_context context_ = {};
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_FAKE_VERBS_API_H_
