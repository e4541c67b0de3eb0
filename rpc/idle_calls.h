// Call objects of one kind that no call has now, for the next calls of their methods. What was not needed for a period
// goes: a message may take far more memory than its bytes on the wire, and protobuf gives none back by itself.
//
// Owner: a server's part on an event loop. Thread: the loop's.

#ifndef VERBENA_RPC_IDLE_CALLS_H_
#define VERBENA_RPC_IDLE_CALLS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rpc/server_call.h"

namespace verbena::rpc {

class IdleCalls {
 public:
  static constexpr size_t kOfMethodMax = 1024;

  explicit IdleCalls(size_t methods) : calls_(methods) {}

  bool Has(uint32_t method) const { return !calls_[method].empty(); }
  // The one that was used last, which is in a cache. There is one.
  std::unique_ptr<ServerCall> Take(uint32_t method) {
    std::vector<std::unique_ptr<ServerCall>>& calls = calls_[method];
    std::unique_ptr<ServerCall> call = std::move(calls.back());
    calls.pop_back();
    return call;
  }
  void Keep(std::unique_ptr<ServerCall> call) {
    std::vector<std::unique_ptr<ServerCall>>& calls = calls_[call->method_index()];
    if (calls.size() < kOfMethodMax) calls.push_back(std::move(call));
  }
  // Destroys, `most` at most, those that have not been taken since the last time.
  void GiveBackUnused(size_t most);
  bool empty() const {
    return std::all_of(calls_.begin(), calls_.end(), [](const auto& calls) { return calls.empty(); });
  }

 private:
  std::vector<std::vector<std::unique_ptr<ServerCall>>> calls_;  // By method; the one that was used last is last.
  size_t first_ = 0;                                             // The method that gives back first, the next time.
};

// Each method begins in turn, so that none waits for ever for others that always have something.
inline void IdleCalls::GiveBackUnused(size_t most) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    std::vector<std::unique_ptr<ServerCall>>& calls = calls_[(first_ + i) % calls_.size()];
    const auto is_used = [](const std::unique_ptr<ServerCall>& call) { return !call->is_unused(); };
    const auto unused_end = std::find_if(calls.begin(), calls.end(), is_used);  // What is used is on top of them.
    const size_t count = std::min<size_t>(unused_end - calls.begin(), most);
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count));
    for (const std::unique_ptr<ServerCall>& call : calls) call->MarkUnused();
    most -= count;
  }
  first_ = calls_.empty() ? 0 : (first_ + 1) % calls_.size();
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_IDLE_CALLS_H_
