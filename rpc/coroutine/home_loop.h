// The way back to the loop on which a coroutine waits, for whoever ends on another thread what it waits for: shared by
// all who wait there, and leads nowhere when that loop has gone.

#ifndef VERBENA_RPC_COROUTINE_HOME_LOOP_H_
#define VERBENA_RPC_COROUTINE_HOME_LOOP_H_

#include <memory>

#include "transport/event_loop.h"
#include "transport/loop_handle.h"

namespace verbena::coroutine {

// What a loop keeps of it, and destroys before itself.
struct KeptHome {
  explicit KeptHome(transport::EventLoop* loop) : way(std::make_shared<transport::LoopHandle>(loop)) {}
  ~KeptHome() { way->Detach(); }
  KeptHome(const KeptHome&) = delete;
  KeptHome& operator=(const KeptHome&) = delete;

  static inline constexpr char kKey = 0;  // Of EventLoop::Local.
  const std::shared_ptr<transport::LoopHandle> way;
};

// To the loop that the calling thread runs. Null: it runs none. Any thread.
inline std::shared_ptr<transport::LoopHandle> WayHome() {
  transport::EventLoop* const loop = transport::EventLoop::OfThisThread();
  if (loop == nullptr) return nullptr;
  std::shared_ptr<void>& kept = loop->Local(&KeptHome::kKey);
  if (kept == nullptr) kept = std::make_shared<KeptHome>(loop);
  return static_cast<const KeptHome*>(kept.get())->way;
}

}  // namespace verbena::coroutine

#endif  // VERBENA_RPC_COROUTINE_HOME_LOOP_H_
