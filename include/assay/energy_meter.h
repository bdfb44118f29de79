// The energy meters of a machine: RAPL, a power sensor, Jetson's INA3221, the Raspberry Pi 5's
// PMIC, NVML. Each has channels that are read as integers. A channel that cannot be read has a
// reason with what to try, and is never 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

enum class MeterKind { Energy, Power };  // a joule counter; the present power in watts
enum class MeterScope { Processor, Board, Accelerator, Other };
std::string_view name(MeterKind kind);    // "energy", "power"
std::string_view name(MeterScope scope);  // "processor", "board", "accelerator", "other"

struct MeterChannel {
  std::string name;                        // "package-0", "VDD_IN"
  bool is_counted = true;                  // false if part of another channel, or unrelated
  std::optional<std::int64_t> range = {};  // microjoules after which a counter wraps
};

struct MeterInfo {
  std::string source;  // "RAPL", "hwmon", "INA3221", "PMIC", "NVML"
  MeterKind kind = MeterKind::Energy;
  MeterScope scope = MeterScope::Processor;
  std::vector<MeterChannel> channels = {};
  double update_ms = 1;          // between two new values
  bool is_update_found = false;  // measured, not documented
  double max_watts = 1000;       // an upper bound for any channel
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
  std::vector<std::string> notes = {};   // about a meter or channel that cannot be used
  std::vector<std::string> absent = {};  // a sentence for each source that was not found
};
EnergyMeters find_energy_meters(const std::string& root = "");  // `root` stands in for "/" in tests
std::string why_no_meter(const EnergyMeters& found);            // one line

// The meter to use for work on the processor, so that nothing is counted twice: RAPL, then INA3221,
// PMIC, a sensor of the whole board, any other sensor. Never an accelerator's. Null if there is
// none.
EnergyMeter* primary_meter(const EnergyMeters& found);
// The one for work on the GPU that engines use; null if there is none.
EnergyMeter* gpu_meter(const EnergyMeters& found);

}  // namespace assay
