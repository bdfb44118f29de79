#include "train/target.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "assay/engine.h"
#include "assay/precision.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay::train {

namespace {

const std::array<std::string, 2> kDevices = {"cpu", "cuda"};

// The first GPU is the only one that engines use, so torch's name for it is one of ours.
std::string_view own_name(std::string_view device) {
  return device == "cuda:0" ? "cuda" : device;
}

// The default engine stands for any: then the device decides.
std::string engine_for(const std::string& engine, std::string_view device) {
  if (find_engine(engine).device == device) return engine;
  if (engine != default_engine()) {
    fail_usage("engine '{}' does not run on device '{}': name one of the two", engine, device);
  }
  return find_engine(device).name;
}

}  // namespace

ProgramOptions on_device(ProgramOptions options, std::string_view device) {
  const std::string_view name = own_name(device);
  if (std::ranges::find(kDevices, name) == kDevices.end()) {
    fail_usage("there is no device '{}': choose from {}", without_control_characters(device),
               join(kDevices, ", "));
  }
  options.engine = engine_for(options.engine, name);
  return options;
}

ProgramOptions in_precision(ProgramOptions options, std::string_view precision) {
  if (precision == "tf32") {
    set_precision(options, precision);
    return options;
  }
  const DataType type = float_precision(precision);
  if (type != DataType::Float32) options.precision = type;
  return options;
}

}  // namespace assay::train
