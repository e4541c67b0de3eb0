// What the functions of the fake table (fake_verbs_api.h) share: recording, failing, making and destroying objects.

#ifndef VERBENA_TRANSPORT_VERBS_FAKE_CALLS_H_
#define VERBENA_TRANSPORT_VERBS_FAKE_CALLS_H_

#include <unistd.h>

#include <cerrno>

#include "transport/verbs/fake_verbs_api.h"

namespace verbena::verbs {

inline FakeVerbs* current = nullptr;

// Plain calls: 0, or -1 with errno.
inline int Outcome(const char* call) {
  int error = current->Begin(call);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

template <typename T>
T* Make(const char* call, const char* kind) {
  if (Outcome(call) != 0) return nullptr;
  T* object = new T();
  current->Add(object, kind);
  return object;
}

template <typename T>
int Destroy(const char* call, T* object, const char* kind) {
  current->Begin(call);
  current->Remove(object, kind);
  delete object;
  return 0;
}

inline int Descriptor() { return current->descriptor == -1 ? -1 : dup(current->descriptor); }

// Fills in the connection manager's entries.
void AddCmCalls(VerbsApi& api);

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_FAKE_CALLS_H_
