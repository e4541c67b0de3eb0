// An array whose pages take memory only when they are touched: most of a queue is never used at once, and a process has
// thousands of queues. What stands in an element before it is first assigned is nothing in particular.
//
// Owner: whoever has it. Thread: the owner's.

#ifndef VERBENA_TRANSPORT_SOFT_UNTOUCHED_ARRAY_H_
#define VERBENA_TRANSPORT_SOFT_UNTOUCHED_ARRAY_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace verbena::soft {

template <typename T>
class UntouchedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  // std::bad_alloc: the system refuses so much.
  explicit UntouchedArray(size_t size) : elements_(static_cast<T*>(std::malloc(size * sizeof(T)))) {
    if (elements_ == nullptr && size > 0) throw std::bad_alloc();
  }

  T& operator[](size_t index) { return elements_.get()[index]; }
  const T& operator[](size_t index) const { return elements_.get()[index]; }

 private:
  struct Free {
    void operator()(T* elements) const { std::free(elements); }
  };

  std::unique_ptr<T, Free> elements_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_UNTOUCHED_ARRAY_H_
