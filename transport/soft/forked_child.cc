#include "transport/soft/forked_child.h"

#include <pthread.h>

#include <atomic>

namespace verbena::soft {
namespace {

std::atomic<bool> is_forked_child{false};
std::atomic<void (*)()> to_run_in_child{nullptr};

}  // namespace

void RecognizeForkedChildren(void (*in_child)()) {
  to_run_in_child.store(in_child);
  pthread_atfork(nullptr, nullptr, [] {
    is_forked_child.store(true);
    to_run_in_child.load()();
  });
}

bool IsForkedChild() { return is_forked_child.load(std::memory_order_relaxed); }

}  // namespace verbena::soft
