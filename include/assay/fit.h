// Would a model fit another device: its latency there, whether it fits in memory, its power.
// Nothing is run there.
//
// The bound follows from the device's roofline and no engine can beat it. The estimate carries over
// how near its roofline each kind of layer came on this machine: a calibration, measured once on
// built-in networks. It also predicts each of these networks from the others, which gives its
// error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/count.h"
#include "assay/device.h"
#include "assay/program.h"
#include "assay/progress.h"
#include "assay/roofline.h"

namespace assay {

// How long one fused operator of a network took, and the least time this machine allows it.
struct EfficiencySample {
  std::string family;  // of models
  std::string op_class;
  double flops = 0;
  double weight_bytes = 0;
  double activation_bytes = 0;
  double roof_ms = 0;
  double time_ms = 0;
};

// Held-out validation: a network predicted from all others.
struct HeldOut {
  std::string model;
  double measured_ms = 0;
  double estimated_ms = 0;
  double bound_ms = 0;

  double error() const { return estimated_ms / measured_ms - 1; }
};

struct Calibration {
  std::string measured_at = "";
  std::string ceilings_of = "";  // when the ceilings it uses were measured
  int threads = 1;
  double step_overhead_ms = 0;
  int network_count = 0;                    // that were run
  std::vector<std::string> disturbed = {};  // of these, while other programs ran
  std::vector<EfficiencySample> samples = {};
  std::vector<HeldOut> held_out = {};

  double median_error() const;  // of the absolute relative errors
  double wide_error() const;    // the 90 % quantile
  bool is_trustworthy() const;  // at most a third of the networks was disturbed
};

// Variants of one family are not used to predict each other.
struct CalibrationNetwork {
  std::string name;
  std::string family;
  std::function<Graph()> make;
  bool is_held_out = true;  // false: only used to predict others
};

// Built-in networks of every kind, and short probes with layers and sizes that those lack.
std::vector<CalibrationNetwork> calibration_networks();

// Runs the networks, a few seconds each. Throws an Error of kind Cancelled if `progress` cancels.
Calibration calibrate(const Machine& machine, int threads,
                      const std::vector<CalibrationNetwork>& networks,
                      Progress* progress = nullptr);

enum class FitVerdict { Fits, Tight, DoesNotFit, Unknown };
std::string_view name(FitVerdict verdict);  // "fits", "tight", "does not fit", "unknown"

struct FitLimits {
  std::optional<double> max_ms = {};
  std::optional<double> max_mb = {};
  std::optional<double> max_watts = {};
};

struct DeviceFit {
  std::string id;
  std::string name;
  std::optional<double> bound_ms = {};
  std::optional<double> estimate_ms = {};
  std::optional<double> estimate_low_ms = {};
  std::optional<double> estimate_high_ms = {};
  std::optional<double> memory_bytes = {};  // that the device has
  std::optional<double> energy_proxy_j = {};
  std::optional<double> power_watts = {};
  std::string precision = "";  // whose peak the device has
  FitVerdict verdict = FitVerdict::Unknown;
  std::string reason = "";
};

struct FitReport {
  ModelSummary model = {};
  std::int64_t batch = 1;
  std::string precision = "fp32";
  std::int64_t weight_bytes = 0;
  std::int64_t activation_bytes = 0;  // the planned arena
  FitLimits limits = {};
  double median_error = 0;  // of the calibration
  double wide_error = 0;
  std::vector<DeviceFit> devices = {};
  std::vector<std::string> warnings = {};

  std::int64_t need_bytes() const { return weight_bytes + activation_bytes; }
};

struct FitOptions {
  CountOptions count = {};
  std::string precision = "fp32";  // "fp32", "fp16", "bf16", "int8"
  FitLimits limits = {};
};

FitReport fit_model(Graph graph, std::string name, const std::vector<Device>& devices,
                    const Calibration& calibration, const FitOptions& options = {});

}  // namespace assay
