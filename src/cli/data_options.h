// Which data set a command reads: shared by those that train or evaluate a model.
#pragma once

#include <string>
#include <vector>

#include "assay/dataset.h"
#include "assay/graph.h"
#include "cli/command.h"

namespace assay::cli {

struct DataArguments {
  std::string dataset = {};
  std::string folder = {};
  std::string val_subset = {};
};

// --dataset, which is returned, --dataset-folder and --val-subset.
Option* add_data_options(Command& command, DataArguments& arguments);

// How many samples --val-subset asks for; 0: all.
std::int64_t validation_count(const DataArguments& arguments);

// Synthetic samples get the shape that the model takes.
DatasetOptions dataset_options(const DataArguments& arguments, const Graph& graph,
                               std::uint64_t seed);

// `count` samples drawn at random; all of them for 0.
Dataset limited(const Dataset& dataset, std::int64_t count, std::uint64_t seed);

// The part that a model is evaluated on: the test part, or with a warning all of it.
Dataset test_data(const DataArguments& arguments, const Graph& graph, std::uint64_t seed,
                  std::vector<std::string>& warnings);

constexpr std::int64_t kEvaluationBatch = 64;

}  // namespace assay::cli
