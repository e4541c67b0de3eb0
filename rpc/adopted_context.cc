#include "rpc/adopted_context.h"

#include <utility>

#include "rpc/client_call_binding.h"

namespace verbena::rpc {

void AdoptedContext::Adopt(std::shared_ptr<AdoptedContext> self, ClientContext& user) {
  self->CopyRequest(user);
  ClientContext& own = self->context_;
  own.timeout_ = user.timeout_;
  own.deadline_ = user.deadline_;
  own.propagate_ = user.propagate_;
  own.parent_ = std::move(user.parent_);
  user.response_attachment_.Clear();
  user.response_metadata_.Clear();
  ClientCallBinding::LeadTo(user, std::move(self), 1);
  user.adopted_ = true;
  if (user.cancelled_.load()) own.TryCancel();
}

void AdoptedContext::CopyRequest(const ClientContext& user) {
  context_.wait_for_ready_ = user.wait_for_ready_;
  context_.hash_key_ = user.hash_key_;
  context_.request_attachment_ = user.request_attachment_;
  context_.request_metadata_ = user.request_metadata_;
}

void AdoptedContext::ReturnInitialMetadata(ClientContext& user) const {
  user.response_metadata_.initial = context_.response_metadata_.initial;
}

void AdoptedContext::Return(ClientContext& user) {
  user.response_attachment_ = std::move(context_.response_attachment_);
  user.response_metadata_ = std::move(context_.response_metadata_);
}

}  // namespace verbena::rpc
