// A smaller or faster version of a model: made as told, or searched for until a target is met.
//
// Every version that is tried is made, run and measured, and listed in the trail. The search goes
// from small changes to large ones and ends with the first that meets the target without losing
// more than allowed, so versions further on are not tried.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/accuracy.h"
#include "assay/bind.h"
#include "assay/fit.h"
#include "assay/graph.h"
#include "assay/low_rank.h"
#include "assay/optimize_data.h"
#include "assay/program.h"
#include "assay/prune_measured.h"
#include "assay/timing.h"

namespace assay {

// The numbers that a version stores and computes with.
enum class VariantPrecision {
  AsStored,     // as the model has them, usually float32
  Float16,      // cast
  BFloat16,     // cast
  WeightsInt8,  // matrices of products as 8-bit codes, activations as they are
  WeightsInt4,
  Dynamic,  // 8-bit products whose activations are quantised in each run
  Int8,     // calibrated: weights and activations of 8 bits
};
// "fp32", "fp16", "bf16", "weights-int8", "weights-int4", "dynamic", "int8"
std::string_view name(VariantPrecision precision);
VariantPrecision variant_precision_named(std::string_view name);

struct VariantRecipe {
  double prune = 0;  // share of the channels that goes, in [0, 1)
  VariantPrecision precision = VariantPrecision::AsStored;
  // Share of its weights that a large matrix has as the product of two thinner ones, in (0, 1).
  double low_rank = 0;
  bool tidy = false;  // without what is not used, constant or there twice; changes no result

  friend bool operator==(const VariantRecipe&, const VariantRecipe&) = default;
};
// "int8, pruned by 0.25", "low rank 0.5", "unchanged". "tidied" only if nothing else was done: all
// other versions of such a model are tidied too.
std::string describe(const VariantRecipe& recipe);

// How near a version's results are to the original's.
struct VariantQuality {
  std::optional<Accuracy> accuracy = {};  // with labels
  // Share of the decisions (the largest score of a row of the first output) that are the
  // original's.
  double agreement = 1;
  std::int64_t decisions = 0;
  std::optional<double> snr_db = {};  // of all float outputs; missing where they are equal
  // False if the original itself gives numbers that are not finite: then nothing can be compared.
  bool is_meaningful = true;
  std::int64_t samples = 0;
};

struct VariantCost {
  double memory_mb = 0;          // stored tensors
  double runtime_memory_mb = 0;  // with planned peak activations
  std::int64_t parameters = 0;
  std::int64_t macs = 0;                    // for the batch that runs
  LatencySummary latency = {};              // on this machine, for that batch
  std::optional<DeviceFit> on_device = {};  // what `fit_model` predicts for the device asked for
  std::optional<double> energy_measured_j = {};  // of a run, where a meter exists; of the original
                                                 // and the chosen version

  // What a target is compared with: the device's latency where there is one, else this machine's.
  double judged_ms() const {
    return on_device ? on_device->estimate_ms.value_or(0) : latency.median_ms;
  }
};

struct OptimizeTrial {
  VariantRecipe recipe = {};
  std::optional<VariantCost> cost = {};        // missing if the version could not be made
  std::optional<VariantQuality> quality = {};  // missing where it was not needed
  std::optional<double> loss_points = {};
  bool meets_target = false;
  bool is_within_loss = true;
  std::string error = "";
  std::vector<std::string> notes = {};  // what was left as it was, and why
  double seconds = 0;                   // to make and measure it
};

struct OptimizeGoal {
  std::optional<double> target_ms = {};  // latency of a run
  std::optional<double> target_mb = {};  // stored tensors
  // Percentage points: of accuracy, or without labels of agreement with the original.
  std::optional<double> max_loss = {};
  // The search aims at this share of `target_ms`, for a latency that is still to be confirmed.
  double margin = 1;

  bool has_target() const { return target_ms || target_mb; }
};

// Latency targets are then for this device.
struct TargetDevice {
  Device device = {};
  Calibration calibration = {};
};

struct OptimizeOptions {
  std::optional<double> prune = {};                // fixed; else searched if there is a target
  std::optional<VariantPrecision> precision = {};  // likewise
  std::optional<double> low_rank = {};             // likewise, for models of large linear layers
  bool tidies = true;  // every version, where there is something to remove
  // ONNX has bfloat16 convolutions only from opset 22 on, and ONNX Runtime has none on CPUs. A
  // search therefore tries bfloat16 only if this is set.
  bool searches_bfloat16 = false;
  double largest_prune = 0.9;         // that a search tries
  double prune_step = 0.05;           // of levels that a search tries
  PruneOptions pruning = {};          // its level, bindings and activity are set from here
  bool measures_widths = false;       // keeps widths that this machine rewards, by measure_widths
  QuantizeOptions quantization = {};  // its program is set from here
  std::int64_t finetune_epochs = 0;   // after pruning and factorising; the rate falls to 0
  // At first; nothing: that with the least loss after a short training.
  std::optional<double> finetune_rate = {};
  std::uint64_t seed = 0;
  Bindings bindings = {};  // for latency
  ProgramOptions program = {};
  TimingOptions timing = {.min_seconds = 0.3, .max_seconds = 3};
  std::optional<TargetDevice> device = {};
};

struct OptimizeResult {
  OptimizeTrial original = {};
  std::vector<OptimizeTrial> trail = {};    // in the order tried; without the original
  std::optional<std::size_t> chosen = {};   // in the trail; nothing: none is better
  Graph model = {};                         // the chosen version, or the original
  std::vector<PrunedGroup> groups = {};     // of a pruned version
  std::vector<LowRankLayer> low_rank = {};  // large matrices of a factorised version
  bool met = false;                         // the target and the loss
  bool interrupted = false;                 // the best so far
  std::vector<std::string> warnings = {};

  const OptimizeTrial& best() const { return chosen ? trail[*chosen] : original; }
};

// Versions that were tried are kept, so that searching again for a stricter goal is quick.
class ModelOptimizer {
 public:
  ModelOptimizer(Graph model, OptimizeData data, OptimizeOptions options);
  ModelOptimizer(ModelOptimizer&&) noexcept;
  ~ModelOptimizer();

  // Measures the original on first use.
  const OptimizeTrial& original(Progress* progress = nullptr);
  // When `progress` cancels, the best so far.
  OptimizeResult search(const OptimizeGoal& goal, Progress* progress = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How a quantised tensor is stored, read from the graph itself.
struct TensorScale {
  std::string tensor;
  DataType type = DataType::Int8;
  std::optional<std::int64_t> axis = {};  // of per-channel scales
  std::vector<double> scales = {};
  std::vector<std::int64_t> zero_points = {};
};
// Of every QuantizeLinear and DequantizeLinear with constant scales, each tensor once.
std::vector<TensorScale> tensor_scales(const Graph& graph);

// Whether any layer is quantised already.
bool is_quantized(const Graph& graph);

}  // namespace assay
