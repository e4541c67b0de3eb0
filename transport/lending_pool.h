// Objects that are lent for a while and come back empty for the next: whoever uses one now and then needs none of its
// own, and finds it, and the memory that it keeps, still in the cache.
//
//   LendingPool<SendList> lists;
//   LendingPool<SendList>::Lent list = lists.Take();
//
// T::Clear empties an object; it may keep its memory. Owner: a poll group. Thread: its loop's. The pool grows to what
// was ever lent at once, and outlives what is lent.

#ifndef VERBENA_TRANSPORT_LENDING_POOL_H_
#define VERBENA_TRANSPORT_LENDING_POOL_H_

#include <memory>
#include <vector>

namespace verbena::transport {

template <typename T>
class LendingPool {
 public:
  struct GiveBack {
    LendingPool* pool = nullptr;
    void operator()(T* object) const {
      object->Clear();
      pool->free_.push_back(object);
    }
  };
  // Is cleared and goes back when it is destroyed.
  using Lent = std::unique_ptr<T, GiveBack>;

  LendingPool() = default;
  LendingPool(const LendingPool&) = delete;
  LendingPool& operator=(const LendingPool&) = delete;

  // An empty one.
  Lent Take() {
    if (free_.empty()) {
      free_.push_back(objects_.emplace_back(std::make_unique<T>()).get());
      free_.reserve(objects_.capacity());  // Giving back allocates nothing.
    }
    T* const object = free_.back();
    free_.pop_back();
    return Lent(object, GiveBack{this});
  }

 private:
  std::vector<std::unique_ptr<T>> objects_;
  std::vector<T*> free_;  // A stack: the warmest is taken first.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_LENDING_POOL_H_
