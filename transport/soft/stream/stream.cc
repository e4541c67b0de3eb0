#include "transport/soft/stream/stream.h"

#include <mutex>
#include <unordered_set>
#include <utility>

#include "absl/base/thread_annotations.h"

namespace verbena::soft {
namespace {

// Every Stream of the process.
struct Registry {
  std::mutex mu;
  std::unordered_set<Stream*> streams ABSL_GUARDED_BY(mu);
};

// Never destroyed: the control thread may outlive main.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

Stream::Stream(UniqueFd fd) : fd_(std::move(fd)) {
  std::lock_guard lock(TheRegistry().mu);
  TheRegistry().streams.insert(this);
}

// The descriptor is closed with the lock held: else a fork in between gave the child one that nobody closes there.
Stream::~Stream() {
  std::lock_guard lock(TheRegistry().mu);
  TheRegistry().streams.erase(this);
  fd_.Reset();
}

void Stream::LockForFork() { TheRegistry().mu.lock(); }

void Stream::UnlockAfterFork() { TheRegistry().mu.unlock(); }

void Stream::AbandonAll() {
  for (Stream* stream : TheRegistry().streams) stream->fd_.Reset();
  UnlockAfterFork();
}

}  // namespace verbena::soft
