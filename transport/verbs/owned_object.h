// The one place where verbs objects are destroyed: a move-only owner of one raw object, used as a member by the
// handles.
//
// Remembers the table that made the object and destroys it, exactly once, through that same table. Empty only after it
// was moved from; a handle never hands out an empty one. The objects that the raw object was made from (its protection
// domain, its device, its event channel) must outlive it: rdma-core refuses to destroy a parent first.
//
// A destroy call can fail. EBUSY means that something made from this object is still alive, which is our own bug and
// asserts; every other failure is a device that went away, after which there is nothing left to release.
//
// Thread: as the object's own.

#ifndef VERBENA_TRANSPORT_VERBS_OWNED_OBJECT_H_
#define VERBENA_TRANSPORT_VERBS_OWNED_OBJECT_H_

#include <cassert>
#include <cerrno>
#include <type_traits>
#include <utility>

#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

// `kDestroy` is the table's entry that destroys a T, for instance &VerbsApi::dealloc_pd.
template <typename T, auto kDestroy>
class OwnedObject {
 public:
  OwnedObject(const VerbsApi& api, T* object) : api_(&api), object_(object) { assert(object != nullptr); }
  OwnedObject(OwnedObject&& from) noexcept : api_(from.api_), object_(std::exchange(from.object_, nullptr)) {}
  OwnedObject& operator=(OwnedObject&& from) noexcept {
    OwnedObject taken(std::move(from));
    std::swap(api_, taken.api_);
    std::swap(object_, taken.object_);
    return *this;
  }
  ~OwnedObject() {
    if (object_ != nullptr) Destroy();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  const VerbsApi& api() const { return *api_; }
  bool moved_from() const { return object_ == nullptr; }

 private:
  void Destroy() {
    auto destroy = api_->*kDestroy;
    if constexpr (std::is_void_v<decltype(destroy(object_))>) {
      destroy(object_);
    } else {
      [[maybe_unused]] int result = destroy(object_);
      assert(result != EBUSY && !(result < 0 && errno == EBUSY));
    }
  }

  const VerbsApi* api_;
  T* object_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_OWNED_OBJECT_H_
