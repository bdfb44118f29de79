// A meter made of channels, each read by its own function.
#pragma once

#include <functional>

#include "assay/energy_meter.h"

namespace assay::machine {

using ReadChannel = std::function<MeterValue()>;

class ChannelMeter : public EnergyMeter {
 public:
  ChannelMeter(MeterInfo info, std::vector<ReadChannel> reads)
      : EnergyMeter(std::move(info)), reads_(std::move(reads)) {}

  std::vector<MeterValue> read() override {
    std::vector<MeterValue> values;
    values.reserve(reads_.size());
    for (const ReadChannel& read_channel : reads_) values.push_back(read_channel());
    return values;
  }

 private:
  std::vector<ReadChannel> reads_;
};

// Collects the channels of one meter, leaving out those that cannot be read now: one note for all.
class ChannelList {
 public:
  ChannelList(MeterInfo info, EnergyMeters& found) : info_(std::move(info)), found_(found) {}

  MeterInfo& info() { return info_; }
  void add(MeterChannel channel, ReadChannel read_channel);
  void finish();  // adds a meter to `found` if any channel counts

 private:
  MeterInfo info_;
  EnergyMeters& found_;
  std::vector<ReadChannel> reads_;
  std::vector<std::string> failures_;
};

}  // namespace assay::machine
