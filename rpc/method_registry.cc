#include "rpc/method_registry.h"

#include "absl/strings/str_cat.h"

namespace verbena::rpc {

absl::StatusOr<std::unique_ptr<MethodRegistry>> MethodRegistry::Create(const std::vector<Service*>& services) {
  std::unique_ptr<MethodRegistry> registry(new MethodRegistry());
  for (const Service* service : services) {
    if (service == nullptr) return absl::InvalidArgumentError("a service is null");
    if (absl::Status added = registry->Add(*service); !added.ok()) return added;
  }
  return registry;
}

namespace {

bool IsWhole(const Method& method) {
  const bool unary = method.kind == MethodKind::kUnary;
  const int handlers = (method.blocking != nullptr) + (method.callback != nullptr);
  const int stream_handlers = (method.blocking_stream != nullptr) + (method.callback_stream != nullptr);
  return handlers == (unary ? 1 : 0) && stream_handlers == (unary ? 0 : 1) && method.new_request && method.new_reply;
}

}  // namespace

absl::Status MethodRegistry::Add(const Service& service) {
  const std::string& name = service.full_name();
  if (name.empty()) return absl::InvalidArgumentError("a service has no name");
  if (!services_.insert(name).second) {
    return absl::InvalidArgumentError(absl::StrCat("service ", name, " is registered twice"));
  }
  for (const Method& method : service.methods()) {
    if (absl::Status added = AddMethod(name, method); !added.ok()) return added;
  }
  for (const std::string& method : service.methods_read_in_parts()) {
    if (absl::Status read = ReadInParts(name, method); !read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::Status MethodRegistry::ReadInParts(const std::string& service, const std::string& method) {
  const auto found = indexes_.find(absl::StrCat(service, "/", method));
  if (found == indexes_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("service ", service, " wants to read the attachment of ", method,
                                                   " in parts, and has no such method"));
  }
  if (ClientStreams(kind(found->second))) {
    return absl::InvalidArgumentError(absl::StrCat("service ", service, " wants to read the attachment of ", method,
                                                   " in parts; its client streams, and each message has its own"));
  }
  reads_in_parts_[found->second] = true;
  return absl::OkStatus();
}

absl::Status MethodRegistry::AddMethod(const std::string& service, const Method& method) {
  const std::string full_name = absl::StrCat(service, "/", method.name);
  if (!IsWhole(method)) {
    return absl::InvalidArgumentError(
        absl::StrCat("method ", full_name, " needs one handler of its kind, and makers of request and reply"));
  }
  if (!indexes_.emplace(full_name, methods_.size()).second) {
    return absl::InvalidArgumentError(absl::StrCat("method ", full_name, " is there twice"));
  }
  methods_.push_back(&method);
  names_.push_back(full_name);
  reads_in_parts_.push_back(false);
  has_blocking_methods_ |= IsBlocking(method);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> MethodRegistry::Find(absl::string_view full_name) const {
  if (const auto found = indexes_.find(full_name); found != indexes_.end()) return found->second;
  const absl::string_view service = full_name.substr(0, full_name.rfind('/'));
  return absl::UnimplementedError(services_.contains(service)
                                      ? absl::StrCat("service ", service, " has no method ", full_name)
                                      : absl::StrCat("this server has no service ", service, " (", full_name, ")"));
}

}  // namespace verbena::rpc
