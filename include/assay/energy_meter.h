// The energy meters a machine has: RAPL, a power sensor, Jetson's INA3221, the Raspberry Pi 5's
// PMIC, NVML. Each has channels that are read as whole numbers. What cannot be read has a reason
// with what to try, and is never 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

enum class MeterKind { Energy, Power };  // counts joules up; tells the watts of the moment
enum class MeterScope { Processor, Board, Accelerator, Other };
std::string_view name(MeterKind kind);    // "energy", "power"
std::string_view name(MeterScope scope);  // "processor", "board", "accelerator", "other"

struct MeterChannel {
  std::string name;        // "package-0", "VDD_IN"
  bool is_counted = true;  // false where another channel holds it already, or it is another matter
  std::optional<std::int64_t> range = {};  // microjoules after which a counter begins anew
};

struct MeterInfo {
  std::string source;  // "RAPL", "hwmon", "INA3221", "PMIC", "NVML"
  MeterKind kind = MeterKind::Energy;
  MeterScope scope = MeterScope::Processor;
  std::vector<MeterChannel> channels = {};
  double update_ms = 1;          // between two new values
  bool is_update_found = false;  // by watching, not from documents
  double max_watts = 1000;       // more than any channel takes
};
std::string covers(const MeterInfo& info);  // "package-0 + package-1": the counted channels

// Microjoules since some moment, or microwatts; whole numbers, so that sums are exact.
struct MeterValue {
  std::optional<std::int64_t> value = {};
  std::string why_not = "";  // with what to try
};

class EnergyMeter {
 public:
  explicit EnergyMeter(MeterInfo info) : info_(std::move(info)) {}
  virtual ~EnergyMeter() = default;
  virtual std::vector<MeterValue> read() = 0;  // one for each channel; never throws
  const MeterInfo& info() const { return info_; }
  void found_update(double milliseconds) {
    info_.update_ms = milliseconds;
    info_.is_update_found = true;
  }

 private:
  MeterInfo info_;
};

struct EnergyMeters {
  std::vector<std::unique_ptr<EnergyMeter>> meters = {};
  std::vector<std::string> notes = {};   // of a meter or channel that is there and cannot be used
  std::vector<std::string> absent = {};  // what there is none of: a sentence for each source
};
EnergyMeters find_energy_meters(const std::string& root = "");  // `root` stands in for "/" in tests
std::string why_no_meter(const EnergyMeters& found);            // one line

// The one to take for work on the processor, so that nothing is counted twice: RAPL, then INA3221,
// PMIC, a sensor of the whole board, any other sensor. Never an accelerator's. Null where none is.
EnergyMeter* primary_meter(const EnergyMeters& found);

}  // namespace assay
