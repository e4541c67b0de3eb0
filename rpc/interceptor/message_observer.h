// Who sees the messages of a call's streams go by. Thread: the loop's.

#ifndef VERBENA_RPC_INTERCEPTOR_MESSAGE_OBSERVER_H_
#define VERBENA_RPC_INTERCEPTOR_MESSAGE_OBSERVER_H_

#include "google/protobuf/message_lite.h"

namespace verbena::rpc {

class MessageObserver {
 public:
  virtual ~MessageObserver() = default;
  virtual void OnSend(const google::protobuf::MessageLite& message) = 0;
  virtual void OnReceived(const google::protobuf::MessageLite& message) = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_INTERCEPTOR_MESSAGE_OBSERVER_H_
