// What one step of training costs: forward, backward and update measured layer by layer, and what
// is in memory while they run.
//
// The step is a graph like any other, so a profile of the step has everything that a profile of a
// model has. Activations count as saved for the backward pass if that pass reads them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/profile.h"
#include "assay/profiler.h"
#include "assay/training_step.h"

namespace assay {

// What a block of memory is used for.
enum class MemoryUse {
  Parameters,
  Statistics,  // running ones of batch norms
  OptimizerState,
  Inputs,           // samples, targets, the rate
  KeptActivations,  // saved for the backward pass
  Activations,      // all others
  Gradients,        // of parameters
  ActivationGradients,
  Workspace,  // of algorithms; "working_space" in reports
};
inline constexpr std::array kMemoryUses = {
    MemoryUse::Parameters, MemoryUse::Statistics,          MemoryUse::OptimizerState,
    MemoryUse::Inputs,     MemoryUse::KeptActivations,     MemoryUse::Activations,
    MemoryUse::Gradients,  MemoryUse::ActivationGradients, MemoryUse::Workspace};
std::string_view name(MemoryUse use);  // "parameters", "optimizer_state", "kept_activations", …

using BytesByUse = std::array<std::int64_t, kMemoryUses.size()>;
std::int64_t total(const BytesByUse& bytes);

// Counted from the step's tensors, before anything is compiled.
struct PlannedTraining {
  std::int64_t batch = 1;
  OptimizerKind optimizer = OptimizerKind::Sgd;
  std::int64_t parameter_bytes = 0;
  std::int64_t kept_activation_bytes = 0;
  std::int64_t gradient_bytes = 0;  // of all parameters together
  std::int64_t optimizer_bytes = 0;
  std::int64_t step_bytes = 0;  // peak memory of a step, each tensor once
};
PlannedTraining plan_training(const Graph& model, const TrainingStepOptions& options,
                              const Bindings& bindings = {});

// The largest batch whose step takes no more than `budget_bytes`; nothing if not even one sample
// fits.
std::optional<PlannedTraining> largest_batch(const Graph& model, std::int64_t budget_bytes,
                                             const TrainingStepOptions& options,
                                             const Bindings& bindings = {});

// The fewest pieces (see TrainingStepOptions) that bring a step below `budget_bytes`. Where no
// number does, an Error that gives the smallest size possible.
std::size_t pieces_to_fit(const Graph& model, std::int64_t budget_bytes,
                          const TrainingStepOptions& options, const Bindings& bindings = {});

// The arena while one step of the program runs.
struct TrainingMemory {
  PlannedTraining planned = {};
  std::int64_t arena_bytes = 0;          // as the engine planned it, and as it was allocated
  std::int64_t constant_bytes = 0;       // weights that do not change
  std::vector<BytesByUse> by_step = {};  // in use while the program's step runs
  std::size_t peak_step = 0;
  std::optional<std::int64_t> peak_rss_growth_bytes = {};
};

struct PhaseTotals {
  Phase phase = Phase::Forward;
  std::int64_t macs = 0;
  std::int64_t flops = 0;
  std::int64_t executed_flops = 0;
  double time_ms = 0;  // in the median run
  double share = 0;
};

struct LayerPhase {
  std::int64_t flops = 0;
  std::optional<double> time_ms = {};  // missing where it has no step of its own
};

// A node of the model: forward, backward and update.
struct TrainingLayer {
  std::string name;
  std::string op;
  std::int64_t parameters = 0;
  LayerPhase forward = {};
  LayerPhase backward = {};  // recomputation included
  LayerPhase update = {};
  double share = 0;  // of the step
};

struct TrainingProfileOptions {
  ProfileOptions profile = {};
  TrainingStepOptions step = {};
  double learning_rate = 0;  // weights stay as they are, so that every run does the same
};

struct TrainingProfile {
  Profile step;  // of the step as a graph
  Optimizer optimizer = {};
  Loss loss = Loss::SumOfSquares;
  std::int64_t parameters = 0;
  std::int64_t model_flops = 0;            // of the model alone, as `profile_model` counts them
  std::int64_t loss_flops = 0;             // of the loss, part of the forward phase
  std::vector<PhaseTotals> phases = {};    // in order; recomputation only where there is any
  std::vector<TrainingLayer> layers = {};  // in execution order, then what belongs to no layer
  std::vector<Phase> step_phases = {};     // by step of the program
  TrainingMemory memory = {};

  const PhaseTotals& totals(Phase phase) const;  // zeros where there is none
  double backward_to_forward() const;            // ratio of measured times; the rule of thumb is 2
};

TrainingProfile profile_training(Graph graph, std::string name,
                                 const TrainingProfileOptions& options = {},
                                 Progress* progress = nullptr);

// The same under the keys of docs/profile.md.
BackwardPass backward_pass_of(const TrainingProfile& profile);

}  // namespace assay
