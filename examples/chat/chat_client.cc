// Joins a room, says there what comes from standard input line by line, and prints what is heard.
//
//   chat_client --server=127.0.0.1:7471 --room=tea --name=Ada

#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "examples/chat/chat.verbena.h"
#include "examples/chat/line_input.h"
#include "examples/daemon/flags_alone.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/options.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7471", "The server: host:port, rdma://host:port or soft://host:port.");
ABSL_FLAG(std::string, device, "", "Device to use: auto, soft, or a device's name. Empty: $VERBENA_DEVICE, else auto.");
ABSL_FLAG(std::string, room, "lobby", "The room to join.");
ABSL_FLAG(std::string, name, "", "Who you are.");

namespace {

using Talk = verbena::ClientReaderWriter<demo::Said, demo::Heard>;

constexpr size_t kLineBytesMax = 4096;  // The server's limit.

// Until there are no more lines, or the call has ended.
void SayLines(Talk& talk, verbena::examples::LineInput& lines) {
  demo::Said said;
  said.mutable_join()->set_room(absl::GetFlag(FLAGS_room));
  said.mutable_join()->set_name(absl::GetFlag(FLAGS_name));
  bool goes_on = talk.Write(said).ok();
  while (goes_on) {
    const std::optional<std::string> line = lines.Next();
    if (!line.has_value()) break;
    if (line->empty()) continue;
    said.set_text(*line);
    goes_on = talk.Write(said).ok();
  }
  talk.WritesDone();
}

void PrintWhatIsHeard(Talk& talk) {
  demo::Heard heard;
  while (talk.Read(&heard)) {
    std::cout << (heard.name().empty() ? "* " : heard.name() + ": ") << heard.text() << std::endl;
  }
}

// One thread speaks, this one listens.
absl::Status TalkToTheEnd(demo::Chat::Stub& stub) {
  const absl::StatusOr<std::unique_ptr<verbena::examples::LineInput>> lines =
      verbena::examples::LineInput::Create(STDIN_FILENO, kLineBytesMax);
  if (!lines.ok()) return lines.status();
  verbena::ClientContext context;
  const std::unique_ptr<Talk> talk = stub.Talk(&context);
  std::thread speaking([&] { SayLines(*talk, **lines); });
  PrintWhatIsHeard(*talk);
  (*lines)->Stop();
  speaking.join();
  return talk->Finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (!verbena::examples::ParseFlagsAlone(argc, argv, "Talks to the others in a room.")) return 2;

  verbena::ChannelOptions options;
  options.transport.device = absl::GetFlag(FLAGS_device);
  const absl::StatusOr<std::shared_ptr<verbena::Channel>> channel =
      verbena::Channel::Create(absl::GetFlag(FLAGS_server), options);
  absl::Status status = channel.status();
  if (status.ok()) {
    demo::Chat::Stub stub(*channel);
    status = TalkToTheEnd(stub);
  }
  if (!status.ok()) std::cerr << absl::StrCat("chat_client: ", status.ToString(), "\n");
  return status.ok() ? 0 : 1;
}
