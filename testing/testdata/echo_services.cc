#include "testing/testdata/echo_services.h"

#include "absl/strings/str_cat.h"
#include "rpc/coroutine/loop_awaitables.h"

namespace verbena::testing {
namespace {

absl::Status Answer(ServerContext* context, const Text& request, Text* reply) {
  reply->set_value(request.value());
  context->set_attachment(context->attachment());
  for (const auto& [key, value] : context->client_metadata()) {
    if (absl::Status added = context->AddTrailingMetadata(key, value); !added.ok()) return added;
  }
  return absl::OkStatus();
}

Text Letter(char letter) {
  Text text;
  text.set_value(std::string(1, letter));
  return text;
}

}  // namespace

absl::Status BlockingEcho::Say(ServerContext* context, const Text* request, Text* reply) {
  return Answer(context, *request, reply);
}

absl::Status BlockingEcho::Join(ServerContext*, ServerReader<Text>* reader, Text* reply) {
  Text request;
  while (reader->Read(&request)) reply->mutable_value()->append(request.value());
  return absl::OkStatus();
}

absl::Status BlockingEcho::Spell(ServerContext*, const Text* request, ServerWriter<Text>* writer) {
  for (const char letter : request->value()) {
    if (absl::Status written = writer->Write(Letter(letter)); !written.ok()) return written;
  }
  return absl::OkStatus();
}

absl::Status BlockingEcho::Chat(ServerContext*, ServerReaderWriter<Text, Text>* stream) {
  Text text;
  while (stream->Read(&text)) {
    if (absl::Status written = stream->Write(text); !written.ok()) return written;
  }
  return absl::OkStatus();
}

Task<absl::Status> CoEcho::Say(ServerContext* context, const Text* request, Text* reply) {
  transport::EventLoop& loop = *transport::EventLoop::OfThisThread();
  while (request->value() == "wait" && !context->IsCancelled()) co_await SleepFor(loop, absl::Milliseconds(1));
  co_return Answer(context, *request, reply);
}

Task<absl::Status> CoEcho::Join(ServerContext*, CoServerReader<Text>* reader, Text* reply) {
  Text request;
  while (co_await reader->Read(&request)) reply->mutable_value()->append(request.value());
  co_return absl::OkStatus();
}

Task<absl::Status> CoEcho::Spell(ServerContext*, const Text* request, CoServerWriter<Text>* writer) {
  for (const char letter : request->value()) {
    if (absl::Status written = co_await writer->Write(Letter(letter)); !written.ok()) co_return written;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> CoEcho::Chat(ServerContext*, CoServerReaderWriter<Text, Text>* stream) {
  Text text;
  while (co_await stream->Read(&text)) {
    if (absl::Status written = co_await stream->Write(text); !written.ok()) co_return written;
  }
  co_return absl::OkStatus();
}

}  // namespace verbena::testing
