// What a model that is fed at a fixed interval needs from a machine, estimated before it runs.
//
// With a calibration, an operator's latency is what `assay/fit.h` estimates for this machine.
// Without one it is the least time that the measured ceilings allow for its work and its bytes, in
// the cache level where they live: a lower bound. Both include what starting a step takes.
// `assay/stream_timing.h` measures real streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/fit.h"
#include "assay/roofline.h"
#include "assay/run.h"

namespace assay {

// Memory is bytes read + bytes written, in units of 1024. What is read includes stored tensors
// (parameters, a norm's statistics), so that parameters are in it, once. Both figures are missing
// for an operator whose cost is not known.
struct OperatorProfile {
  std::string operator_name;              // "operator" in reports
  std::optional<double> latency_ms = {};  // estimate or least time, + overhead
  std::optional<double> memory_kb = {};
  std::optional<Bound> bound = {};      // what limits the latency
  std::string bound_level = "";         // of memory: "L2"
  std::vector<std::string> fused = {};  // layers that are computed with it
};

struct StreamTotals {
  double latency_ms = 0;
  double memory_kb = 0;
  double estimated_bandwidth_mb_s = 0;     // memory / latency, in 1024² bytes per second
  double stream_utilization = 0;           // busy / interval, at most 1
  double stream_utilization_uncapped = 0;  // above 1: items arrive faster than they are done
  double overhead_ms = 0;                  // part of the latency: starting steps
};

struct PrecisionTradeoffs {
  double fp32_memory_kb = 0;
  double fp16_memory_kb = 0;  // 50 %
  double int8_memory_kb = 0;  // 25 %
  std::string note = "";
};

// Sentences made from this model's sizes and this machine's caches and rates.
struct EdgeConstraints {
  std::string cache_sensitivity = "";
  std::string bottleneck = "";
};

// What the estimate says about the interval. Keeps up: even if it takes as long as nine in ten
// networks stay below. Tight: only if it takes no longer than estimated. Unknown: a lower bound, or
// an operator's cost, cannot tell.
enum class StreamOutlook { KeepsUp, Tight, TooSlow, Unknown };
std::string_view name(StreamOutlook outlook);  // "KEEPS UP", "TIGHT", "TOO SLOW", "UNKNOWN"

struct StreamForecast {
  bool is_calibrated = false;  // false: latencies are lower bounds
  StreamOutlook outlook = StreamOutlook::Unknown;
  std::string reason = "";
  // Of a whole item, if calibrated; an interval of the longer one would keep up.
  std::optional<double> latency_low_ms = {};
  std::optional<double> latency_high_ms = {};
};

struct HardwareProfile {
  ModelSummary model = {};
  std::int64_t batch = 1;  // samples that arrive together
  double stream_interval_ms = 0;
  std::vector<OperatorProfile> operator_profile = {};
  StreamTotals totals = {};
  PrecisionTradeoffs precision_tradeoffs = {};
  EdgeConstraints edge_constraints = {};
  StreamForecast forecast = {};
  std::int64_t stored_bytes = 0;      // that a run reads
  std::int64_t activation_bytes = 0;  // the planned arena
  Roofline roofline = {};             // measured
  std::vector<std::string> warnings = {};
};

struct HardwareProfileOptions {
  RunOptions run = {};                     // shapes; engine and threads
  std::optional<std::int64_t> width = {};  // of the streaming model's projection; else as features
  // Whose ceilings count; without it some are measured within this process, which takes seconds.
  std::optional<Machine> machine = {};
  std::optional<Calibration> calibration = {};  // of this machine
};

// The streaming model: input_normalization → linear_projection → activation → decision_head.
Graph streaming_model(std::int64_t feature_count, std::int64_t batch_size,
                      std::optional<std::int64_t> width = {});

// The streaming model's four operators, each a step of its own.
HardwareProfile build_hardware_profile_table(std::int64_t feature_count, std::int64_t batch_size,
                                             double stream_interval_ms,
                                             const HardwareProfileOptions& options = {},
                                             Progress* progress = nullptr);

// Any model: the operators that an engine runs. Element-wise layers and batch norms are computed
// with the layer that makes their operand, if no other layer reads it: the value between moves no
// bytes. Layers that only move bytes are listed if this machine's engine copied such bytes when it
// was calibrated.
HardwareProfile build_hardware_profile_table(Graph model, std::string name,
                                             double stream_interval_ms,
                                             const HardwareProfileOptions& options = {},
                                             Progress* progress = nullptr);

// From a microsecond to a day.
inline constexpr double kShortestIntervalMs = 0.001;
inline constexpr double kLongestIntervalMs = 86'400'000;
void check_stream_interval(double interval_ms);  // an Error of kind Usage outside of that

}  // namespace assay
