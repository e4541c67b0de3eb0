#include "rpc/channel.h"

#include <utility>

#include "rpc/channel_core.h"

namespace verbena {

Channel::Channel(std::unique_ptr<rpc::ChannelCore> core) : core_(std::move(core)) {}

Channel::~Channel() = default;

std::string Channel::DescribeState() const { return core_->DescribeState(); }

}  // namespace verbena
