// The rooms of a chat server and their members.
//
// Owner: the service. Thread: any. Everything is done within short locks: fit for handlers on event loops.

#ifndef VERBENA_EXAMPLES_CHAT_ROOMS_H_
#define VERBENA_EXAMPLES_CHAT_ROOMS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "examples/chat/chat.pb.h"
#include "examples/mailbox/mailbox.h"

namespace verbena::examples {

inline constexpr size_t kNameBytesMax = 64;  // Of a room or a member.
inline constexpr size_t kTextBytesMax = 4096;
inline constexpr size_t kMembersMax = 1000;  // Of a room.

class Rooms {
 public:
  using Ears = Mailbox<demo::Heard>;

  // Somebody is at the door: Close closes his ears, too, until he has joined or gone away.
  void Come(std::shared_ptr<Ears> ears);
  void GoAway(const std::shared_ptr<Ears>& ears);
  // From now on `ears` are put all that is said there, first of all that `name` has joined. InvalidArgument,
  // AlreadyExists, ResourceExhausted, Unavailable: not joined; in words.
  absl::Status Join(const std::string& room, const std::string& name, std::shared_ptr<Ears> ears);
  // By one who has joined. InvalidArgument: it is empty or too long.
  absl::Status Say(const std::string& room, const std::string& name, const std::string& text);
  // By one who has joined. The others hear of it; a room that nobody is in is gone.
  void Leave(const std::string& room, const std::string& name);
  // Closes everybody's ears; nobody may join any more.
  void Close(absl::Status why);

 private:
  using Members = std::map<std::string, std::shared_ptr<Ears>>;

  static void Tell(const Members& members, const std::string& name, const std::string& text);

  std::mutex mu_;
  std::set<std::shared_ptr<Ears>> at_the_door_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Members> rooms_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_CHAT_ROOMS_H_
