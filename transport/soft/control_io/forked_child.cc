#include "transport/soft/control_io/forked_child.h"

#include <pthread.h>

#include <atomic>

namespace verbena::soft {
namespace {

std::atomic<bool> is_forked_child{false};

}  // namespace

void RecognizeForkedChildren() {
  [[maybe_unused]] static const int once = pthread_atfork(nullptr, nullptr, [] { is_forked_child.store(true); });
}

bool IsForkedChild() { return is_forked_child.load(std::memory_order_relaxed); }

}  // namespace verbena::soft
