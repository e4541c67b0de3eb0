// Small things that several verbs calls have in common.
//
// Pure but for errno. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_VERBS_CONVENTIONS_H_
#define VERBENA_TRANSPORT_SOFT_VERBS_CONVENTIONS_H_

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>

namespace verbena::soft {

// Null with errno set, as calls that return an object report an error.
inline std::nullptr_t NullWithErrno(int error) {
  errno = error;
  return nullptr;
}

// What extended attributes of a queue pair have in common with the plain ones.
inline ibv_qp_init_attr BasicPartOf(const ibv_qp_init_attr_ex& attributes) {
  return {
      .qp_context = attributes.qp_context,
      .send_cq = attributes.send_cq,
      .recv_cq = attributes.recv_cq,
      .srq = attributes.srq,
      .cap = attributes.cap,
      .qp_type = attributes.qp_type,
      .sq_sig_all = attributes.sq_sig_all,
  };
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_VERBS_CONVENTIONS_H_
