#include "machine/energy/channel_meter.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::machine {

void ChannelList::add(MeterChannel channel, ReadChannel read_channel) {
  const MeterValue now = read_channel();
  if (!now.value) {
    failures_.push_back(fmt::format("{}, {}: {}", info_.source, channel.name, now.why_not));
    return;
  }
  info_.channels.push_back(std::move(channel));
  reads_.push_back(std::move(read_channel));
}

void ChannelList::finish() {
  if (!failures_.empty()) {
    const std::size_t more = failures_.size() - 1;
    found_.notes.push_back(failures_.front() +
                           (more > 0 ? fmt::format(" ({} more likewise)", more) : ""));
  }
  if (std::ranges::none_of(info_.channels, &MeterChannel::is_counted)) return;
  found_.meters.push_back(std::make_unique<ChannelMeter>(std::move(info_), std::move(reads_)));
}

}  // namespace assay::machine
