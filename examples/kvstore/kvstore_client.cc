// Puts, gets, deletes and watches keys of a store that several servers share.
//
//   kvstore_client --servers=127.0.0.1:7481,127.0.0.1:7482 put fruit/apple red fruit/lemon yellow
//   kvstore_client --servers=file:///etc/kvstore-servers get fruit/apple fruit/lemon
//   kvstore_client --servers=dns:///kvstore:7481 watch fruit/
//
// Every client must name the same servers: which of them has a key follows from the key and their list.

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "examples/kvstore/kvstore.verbena.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/options.h"

ABSL_FLAG(std::string, servers, "127.0.0.1:7471",
          "The servers: host:port,host:port…, file:///path, dns:///name:port or etcd://host:port/prefix.");
ABSL_FLAG(std::string, device, "", "Device to use: auto, soft, or a device's name. Empty: $VERBENA_DEVICE, else auto.");
ABSL_FLAG(absl::Duration, timeout, absl::Seconds(5), "How long each put, get or delete may take.");

namespace {

using Words = std::vector<std::string>;

constexpr char kUsage[] =
    "Keys and values on several servers.\n"
    "  kvstore_client put KEY VALUE [KEY VALUE]…\n"
    "  kvstore_client get KEY…\n"
    "  kvstore_client delete KEY…\n"
    "  kvstore_client watch FOLDER/PREFIX";

// What decides on the server: all keys of one folder are on the same one, so that they can be watched there.
absl::string_view FolderOf(absl::string_view key) { return key.substr(0, key.find('/')); }

void AboutKey(verbena::ClientContext& context, absl::string_view key) {
  context.set_hash_key(FolderOf(key));
  context.set_timeout(absl::GetFlag(FLAGS_timeout));
}

absl::Status Put(demo::KeyValue::Stub& stub, const std::string& key, const std::string& value) {
  verbena::ClientContext context;
  AboutKey(context, key);
  demo::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  demo::PutReply reply;
  return stub.Put(&context, request, &reply);
}

absl::Status Get(demo::KeyValue::Stub& stub, const std::string& key) {
  verbena::ClientContext context;
  AboutKey(context, key);
  demo::GetRequest request;
  request.set_key(key);
  demo::GetReply reply;
  absl::Status status = stub.Get(&context, request, &reply);
  if (status.ok()) std::cout << key << " = " << reply.value() << std::endl;
  return status;
}

absl::Status Delete(demo::KeyValue::Stub& stub, const std::string& key) {
  verbena::ClientContext context;
  AboutKey(context, key);
  demo::DeleteRequest request;
  request.set_key(key);
  demo::DeleteReply reply;
  return stub.Delete(&context, request, &reply);
}

// Prints what is there and what changes, until the server ends it.
absl::Status Watch(demo::KeyValue::Stub& stub, const std::string& prefix) {
  if (!absl::StrContains(prefix, '/')) {
    return absl::InvalidArgumentError("a watch is of one folder, or a part of it: \"folder/\" or \"folder/prefix\"");
  }
  verbena::ClientContext context;
  context.set_hash_key(FolderOf(prefix));
  demo::WatchRequest request;
  request.set_prefix(prefix);
  const auto changes = stub.Watch(&context, request);
  demo::Change change;
  while (changes->Read(&change)) {
    std::cout << change.key() << (change.deleted() ? " deleted" : absl::StrCat(" = ", change.value())) << std::endl;
  }
  return changes->Finish();
}

// Whether all is well; says what is not.
bool Report(absl::string_view command, absl::string_view key, const absl::Status& status) {
  if (!status.ok()) std::cerr << absl::StrCat("kvstore_client: ", command, " ", key, ": ", status.ToString(), "\n");
  return status.ok();
}

absl::StatusOr<std::shared_ptr<verbena::Channel>> OpenChannel() {
  verbena::ChannelOptions options;
  options.transport.device = absl::GetFlag(FLAGS_device);
  options.balancing.policy = verbena::PolicyKind::kConsistentHashing;
  // To get twice is as good as once: also when a server dies in the middle.
  options.retries["demo.KeyValue/Get"] = {.attempts_max = 3, .idempotent = true};
  return verbena::Channel::Create(absl::GetFlag(FLAGS_servers), options);
}

// Main's result.
int Run(demo::KeyValue::Stub& stub, const Words& words) {
  const std::string command = words.size() > 1 ? words[1] : "";
  bool all_well = true;
  if (command == "put" && words.size() > 2 && words.size() % 2 == 0) {
    for (size_t i = 2; i < words.size(); i += 2)
      all_well &= Report(command, words[i], Put(stub, words[i], words[i + 1]));
  } else if (command == "get" && words.size() > 2) {
    for (size_t i = 2; i < words.size(); ++i) all_well &= Report(command, words[i], Get(stub, words[i]));
  } else if (command == "delete" && words.size() > 2) {
    for (size_t i = 2; i < words.size(); ++i) all_well &= Report(command, words[i], Delete(stub, words[i]));
  } else if (command == "watch" && words.size() == 3) {
    all_well = Report(command, words[2], Watch(stub, words[2]));
  } else {
    std::cerr << absl::StrCat(kUsage, "\n");
    return 2;
  }
  return all_well ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(kUsage);
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);

  const absl::StatusOr<std::shared_ptr<verbena::Channel>> channel = OpenChannel();
  if (!channel.ok()) {
    std::cerr << absl::StrCat("kvstore_client: ", channel.status().ToString(), "\n");
    return 1;
  }
  demo::KeyValue::Stub stub(*channel);
  return Run(stub, Words(arguments.begin(), arguments.end()));
}
