// The parts of pruning that need data or measurements: how active channels are, which widths are
// fast on this machine, and batch norm statistics of the pruned model.
//
// After pruning, a model is recalibrated and, where there are labels, trained again: train_model
// (train.h) takes it as it takes any other.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "assay/program.h"
#include "assay/progress.h"
#include "assay/prune.h"

namespace assay {

// One tensor for each input of the model, in order.
using InputBatch = std::vector<Tensor>;

// For PruneCriterion::Activation: mean magnitudes over the batches, which are all of one shape.
ChannelActivity measure_activity(const Graph& model, std::span<const InputBatch> batches,
                                 const ProgramOptions& options = {}, Progress* progress = nullptr);

struct RecalibratedModel {
  Graph graph;
  std::vector<std::string> norms;  // whose statistics were computed again, in execution order
};
// Running means and variances of batch norms become those of the given data. While they are
// computed, earlier norms already use the statistics of their batch. A model without batch norms
// stays as it is.
RecalibratedModel recalibrate_batch_norms(const Graph& model, std::span<const InputBatch> batches,
                                          const ProgramOptions& options = {},
                                          Progress* progress = nullptr);

struct WidthOptions {
  std::vector<std::int64_t> multiples = {1, 8, 16, 32};  // that widths are rounded to and timed at
  // A narrower width has to save this share of the time of its layers; else the wider one stays.
  double worth = 0.03;
  std::size_t runs = 15;  // of each candidate, in turns; medians count
  ProgramOptions program = {};
};

// A width of a group, and the time of all layers that read or make its channels.
struct TimedWidth {
  std::int64_t kept = 0;
  double time_ms = 0;
};

struct GroupWidths {
  std::string name;
  std::vector<TimedWidth> timed;  // narrowest first; the last is the original
  std::int64_t kept = 0;          // what was chosen
};

struct MeasuredWidths {
  std::map<std::string, std::int64_t> keep;  // for PruneOptions::keep
  std::vector<GroupWidths> groups;
  double original_ms = 0;  // medians of runs that took turns
  double pruned_ms = 0;    // with the widths of `keep`
  std::vector<std::string> warnings;
};

// Widths near those that `pruning` asks for, chosen by timing the model at several. A width that
// saves no time is not cut, and if no version is faster than the original, nothing is.
MeasuredWidths measure_widths(const Graph& model, const PruneOptions& pruning,
                              const WidthOptions& options = {}, Progress* progress = nullptr);

}  // namespace assay
