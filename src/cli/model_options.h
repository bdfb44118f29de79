// Options for the model and its shapes, shared by every command that takes a MODEL.
#pragma once

#include <string>
#include <vector>

#include "assay/error.h"
#include "assay/run.h"
#include "cli/command.h"

namespace assay::cli {

struct ModelArguments {
  std::string model;
  std::string batch;
  std::vector<std::string> dims;
  std::vector<std::string> inputs;
  std::vector<std::string> values;
  std::string weights;
};

// --batch, --dim, --input, --value and --weights.
void add_shape_options(Command& command, ModelArguments& arguments);
// Those, and MODEL.
void add_model_options(Command& command, ModelArguments& arguments);

// Appends the same options for the command line of another process.
void append_words(const ModelArguments& arguments, std::vector<std::string>& words);

struct RequestedModel {
  Graph graph;
  double read_ms = 0;
  RunOptions run = {};  // bindings, known values and contents; engine and seed are the defaults
};
RequestedModel requested_model(const ModelArguments& arguments);

// Calls `work`; adds the model's name to errors about the model (the reader's errors have it
// already).
template <typename Work>
auto naming_model(const std::string& model, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadInput) throw;
    throw Error(error.kind(), model + ": " + error.what());
  }
}

}  // namespace assay::cli
