// What a name source tells, for a test to await.

#ifndef VERBENA_RPC_NAMES_TESTING_WATCHED_LISTS_H_
#define VERBENA_RPC_NAMES_TESTING_WATCHED_LISTS_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/names/name_source.h"

namespace verbena::rpc {

// A queue of what was told, in words. Any thread. A copy is another hold of the same queue.
class Told {
 public:
  void Add(std::string words) {
    const std::lock_guard lock(state_->mu);
    state_->words.push_back(std::move(words));
    state_->added.notify_all();
  }

  // The next one; "nothing" if none comes for half a minute.
  std::string Next() {
    std::unique_lock lock(state_->mu);
    if (!state_->added.wait_for(lock, std::chrono::seconds(30), [this] { return !state_->words.empty(); })) {
      return "nothing";
    }
    std::string words = std::move(state_->words.front());
    state_->words.pop_front();
    return words;
  }
  // Reads until these words come. False if they do not.
  bool Await(const std::string& words) {
    for (std::string next = Next(); next != "nothing"; next = Next()) {
      if (next == words) return true;
    }
    return false;
  }

 private:
  struct State {
    std::mutex mu;
    std::condition_variable added;
    std::deque<std::string> words;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// "a:1 b:1*3" (weights other than one are named), or "CODE: words".
inline std::string InWords(const absl::StatusOr<std::vector<ServerAddress>>& list) {
  if (!list.ok()) return std::string(list.status().ToString());
  std::string words;
  for (const ServerAddress& server : *list) {
    if (!words.empty()) words += ' ';
    words += server.text;
    if (server.weight != 1) words += '*' + std::to_string(server.weight);
  }
  return words;
}

// A watcher that adds to `told`.
inline NameSource::Watcher TellTo(Told told) {
  return [told](absl::StatusOr<std::vector<ServerAddress>> list) mutable { told.Add(InWords(list)); };
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_TESTING_WATCHED_LISTS_H_
