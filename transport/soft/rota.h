// Members that are looked at some at a time, in turn: each once before any is looked at again.
//
// Owner and thread: its user's, one at a time. The members are others', and are taken out before they end.

#ifndef VERBENA_TRANSPORT_SOFT_ROTA_H_
#define VERBENA_TRANSPORT_SOFT_ROTA_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace verbena::soft {

template <typename Member>
class Rota {
 public:
  // Behind all others.
  void Add(absl::Span<Member* const> members) { members_.insert(members_.end(), members.begin(), members.end()); }

  void Remove(const Member* member) {
    auto found = std::find(members_.begin(), members_.end(), member);
    if (found == members_.end()) return;
    if (static_cast<size_t>(found - members_.begin()) < next_) --next_;
    members_.erase(found);
  }

  // Looks at the next `count`, at most at each once. `look` takes a Member*; false: it is not to be looked at again,
  // and is taken out. `look` does not change this rota.
  template <typename Look>
  void LookAtNext(size_t count, Look look) {
    bool some_go = false;
    for (size_t left = std::min(count, members_.size()); left > 0; --left) {
      if (next_ >= members_.size()) next_ = 0;
      Member*& member = members_[next_++];
      if (look(member)) continue;
      member = nullptr;
      some_go = true;
    }
    if (some_go) Close();
  }

  size_t size() const { return members_.size(); }

 private:
  // Leaves out who is taken out.
  void Close() {
    const auto turn = members_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ -= static_cast<size_t>(std::count(members_.begin(), turn, nullptr));
    std::erase(members_, nullptr);
  }

  std::vector<Member*> members_;
  size_t next_ = 0;  // Whose turn it is; behind the last one: the first one's.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ROTA_H_
