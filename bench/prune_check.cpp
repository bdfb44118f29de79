// Prunes models and compares each with the original, in which the removed channels are zero.
//
//     build/release/bench/bench_prune_check LEVEL FOLDER MODEL...
//
// A MODEL is an .onnx file or zoo:NAME; the pruned one is written to FOLDER/NAME.onnx, for
// bench/peers/check_outputs.py ("-": it is not written). Prints the groups, those that cannot be
// pruned with reasons, parameters before and after, and the largest difference over the largest
// output. Exits with 1 if a difference is larger than 1e-3.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>

#include "assay/error.h"
#include "assay/infer.h"
#include "assay/onnx.h"
#include "assay/prune.h"
#include "assay/zoo.h"
#include "execute/prune_oracle.h"

namespace {

constexpr double kTolerance = 1e-3;

assay::Graph model_named(std::string_view name) {
  return name.starts_with("zoo:") ? assay::zoo_model(name.substr(4)) : assay::read_onnx(name);
}

std::int64_t stored_elements(const assay::Graph& graph) {
  std::int64_t count = 0;
  for (const assay::Initializer& stored : graph.initializers()) count += stored.tensor.elements();
  return count;
}

void print_groups(const std::vector<assay::PrunedGroup>& groups) {
  std::map<std::string, int> frozen;
  int pruned = 0;
  for (const assay::PrunedGroup& group : groups) {
    if (group.frozen.empty())
      ++pruned;
    else
      ++frozen[group.frozen];
  }
  fmt::print("  {} groups pruned\n", pruned);
  for (const auto& [reason, count] : frozen) fmt::print("  {} kept: {}\n", count, reason);
}

void write_pruned(const assay::Graph& graph, const std::string& name, const std::string& folder) {
  if (folder == "-") return;
  const std::string stem = name.starts_with("zoo:") ? name.substr(4, name.find(':', 4) - 4)
                                                    : std::filesystem::path(name).stem().string();
  assay::write_onnx(assay::infer_shapes(graph).graph,
                    std::filesystem::path(folder) / (stem + ".onnx"));
}

bool check(const std::string& name, double level, const std::string& folder) {
  const assay::Graph model = model_named(name);
  const assay::PruneOptions options{.level = level};
  const assay::PruneResult result = assay::prune_model(model, options);
  write_pruned(result.graph, name, folder);
  fmt::print("{}\n", name);
  print_groups(result.groups);
  for (const std::string& warning : result.warnings) fmt::print("  warning: {}\n", warning);
  const auto difference =
      assay::compare_with_zeroed(model, options, {.optimize_for = assay::OptimizeFor::Memory});
  fmt::print("  stored numbers {} -> {}, difference {:.1e}\n", stored_elements(model),
             stored_elements(result.graph), difference.largest);
  std::fflush(stdout);
  return difference.same_shapes && difference.largest <= kTolerance;
}

}  // namespace

int main(int argc, char** argv) {
  bool all_well = true;
  for (int i = 3; i < argc; ++i) {
    try {
      all_well = check(argv[i], std::atof(argv[1]), argv[2]) && all_well;
    } catch (const assay::Error& error) {
      fmt::print("{}\n  {}\n", argv[i], error.what());
      all_well = false;
    }
  }
  return all_well ? 0 : 1;
}
