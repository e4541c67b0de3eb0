// Doubly linked lists through the elements of a vector, by index: appending and removing anywhere costs no allocation,
// and the vector may grow. An element is in as many lists as it has links.
//
// Owner and thread: the user's.

#ifndef VERBENA_RPC_CORE_OVERLOAD_INDEX_LIST_H_
#define VERBENA_RPC_CORE_OVERLOAD_INDEX_LIST_H_

#include <cstdint>
#include <vector>

namespace verbena::rpc {

inline constexpr uint32_t kNoIndex = 0xffffffff;

struct IndexLink {
  uint32_t before = kNoIndex;
  uint32_t after = kNoIndex;
};

// One list: its two ends. The elements are passed to each call, the same every time.
template <typename Element, IndexLink Element::*kLink>
class IndexList {
 public:
  bool empty() const { return first_ == kNoIndex; }
  uint32_t first() const { return first_; }  // kNoIndex: empty.
  uint32_t last() const { return last_; }

  // `index` is in no list of this link.
  void Append(std::vector<Element>& elements, uint32_t index) {
    elements[index].*kLink = {last_, kNoIndex};
    (last_ == kNoIndex ? first_ : (elements[last_].*kLink).after) = index;
    last_ = index;
  }
  // `index` is in this list.
  void Remove(std::vector<Element>& elements, uint32_t index) {
    const IndexLink link = elements[index].*kLink;
    (link.before == kNoIndex ? first_ : (elements[link.before].*kLink).after) = link.after;
    (link.after == kNoIndex ? last_ : (elements[link.after].*kLink).before) = link.before;
  }

 private:
  uint32_t first_ = kNoIndex;
  uint32_t last_ = kNoIndex;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_INDEX_LIST_H_
