#include "rpc/channel.h"

#include <utility>

#include "rpc/channel_core.h"

namespace verbena {

Channel::Channel(std::unique_ptr<rpc::ChannelCore> core) : core_(std::move(core)) {}

Channel::~Channel() = default;

ConnectivityState Channel::connectivity() const { return core_->connectivity().state(); }

size_t Channel::connections_ready() const { return core_->connectivity().ready(); }

void Channel::SetConnectivityCallback(absl::AnyInvocable<void(ConnectivityState)> callback) {
  core_->connectivity().SetCallback(std::move(callback));
}

void Channel::Connect() { core_->Connect(); }

bool Channel::WaitUntilReady(absl::Duration timeout) { return core_->WaitUntilReady(timeout); }

std::string Channel::DescribeState() const { return core_->DescribeState(); }

}  // namespace verbena
