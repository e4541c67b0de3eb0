// demo.Chat's handler: a coroutine on the server's event loops, which listens to its member and tells him the room's
// messages at the same time.
//
// Owner: the user; registered with one server, which it outlives.

#ifndef VERBENA_EXAMPLES_CHAT_CHAT_SERVICE_H_
#define VERBENA_EXAMPLES_CHAT_CHAT_SERVICE_H_

#include <memory>

#include "absl/status/status.h"
#include "examples/chat/chat.verbena.h"
#include "examples/chat/rooms.h"

namespace verbena::examples {

class ChatService final : public demo::Chat::CoService {
 public:
  Task<absl::Status> Talk(ServerContext* context, CoServerReaderWriter<demo::Heard, demo::Said>* stream) override;

  // Ends the talks, which would not end by themselves.
  void OnServerDrain() override { rooms_.Close(absl::UnavailableError("the server shuts down")); }

 private:
  using Stream = CoServerReaderWriter<demo::Heard, demo::Said>;

  // Has the member join, and says in the room what he says, until he ends his stream or says something wrong.
  Task<absl::Status> Listen(Stream& stream, std::shared_ptr<Rooms::Ears> ears);

  Rooms rooms_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_CHAT_CHAT_SERVICE_H_
