// Room behind a verbs structure, so that a program may look at it as the extended structure that begins like it.
//
// libibverbs hands out one object under two types: ibv_cq_ex_to_cq and ibv_qp_to_qp_ex are casts. So ours must have the
// size of the larger one; `extended()` is the look at it. What the larger structure adds starts out as zeros.

#ifndef VERBENA_TRANSPORT_SOFT_EXTENSIBLE_H_
#define VERBENA_TRANSPORT_SOFT_EXTENSIBLE_H_

#include <infiniband/verbs.h>

#include <cstddef>

namespace verbena::soft {

template <typename Basic, typename Extended>
class Extensible : public Basic {
 public:
  Extended* extended() {
    static_assert(sizeof(Extensible) == sizeof(Extended) && alignof(Extensible) == alignof(Extended));
    return reinterpret_cast<Extended*>(static_cast<Basic*>(this));
  }
  static Basic* BasicOf(Extended* object) { return reinterpret_cast<Basic*>(object); }

 protected:
  Extensible() : Basic{} {}

 private:
  std::byte room_[sizeof(Extended) - sizeof(Basic)] = {};
};

using ExtensibleCompletionQueue = Extensible<ibv_cq, ibv_cq_ex>;
using ExtensibleQueuePair = Extensible<ibv_qp, ibv_qp_ex>;
static_assert(offsetof(ibv_cq_ex, comp_mask) == sizeof(ibv_cq) && offsetof(ibv_cq_ex, cqe) == offsetof(ibv_cq, cqe));
static_assert(offsetof(ibv_qp_ex, comp_mask) == sizeof(ibv_qp));

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_EXTENSIBLE_H_
