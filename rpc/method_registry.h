// The methods that a server has, by full name.
//
// Owner: the server. Immutable; any thread.

#ifndef VERBENA_RPC_METHOD_REGISTRY_H_
#define VERBENA_RPC_METHOD_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rpc/core/server_session.h"
#include "rpc/service.h"

namespace verbena::rpc {

// Whether its handler runs on the executor.
inline bool IsBlocking(const Method& method) { return method.blocking != nullptr || method.blocking_stream != nullptr; }

class MethodRegistry : public MethodLookup {
 public:
  // Of services that outlive the registry. InvalidArgument, in words: two services of one name, a method that is there
  // twice or has no handler or two, one to be read in parts that is not there or has no attachment.
  static absl::StatusOr<std::unique_ptr<MethodRegistry>> Create(const std::vector<Service*>& services);

  absl::StatusOr<uint32_t> Find(absl::string_view full_name) const override;
  MethodKind kind(uint32_t method) const override { return methods_[method]->kind; }
  const Method& method(uint32_t index) const { return *methods_[index]; }
  bool reads_in_parts(uint32_t index) const { return reads_in_parts_[index]; }  // Service::ReadAttachmentInParts.
  const std::string& full_name(uint32_t index) const { return names_[index]; }
  size_t size() const { return methods_.size(); }
  bool has_blocking_methods() const { return has_blocking_methods_; }

 private:
  MethodRegistry() = default;
  absl::Status Add(const Service& service);
  absl::Status AddMethod(const std::string& service, const Method& method);
  absl::Status ReadInParts(const std::string& service, const std::string& method);

  absl::flat_hash_set<std::string> services_;
  absl::flat_hash_map<std::string, uint32_t> indexes_;  // By "package.Service/Method".
  std::vector<const Method*> methods_;
  std::vector<std::string> names_;    // The same, by "package.Service/Method".
  std::vector<bool> reads_in_parts_;  // The same.
  bool has_blocking_methods_ = false;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_METHOD_REGISTRY_H_
