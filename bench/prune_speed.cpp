// How much faster pruned models are: the original, one pruned with the widths that the level asks
// for, and one with measured widths take turns in one process.
//
//     build/release/bench/bench_prune_speed LEVEL THREADS MODEL...
//
// A MODEL is an .onnx file or zoo:NAME. Prints medians in ms and ratios to the original.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "assay/bind.h"
#include "assay/error.h"
#include "assay/onnx.h"
#include "assay/program.h"
#include "assay/prune_measured.h"
#include "assay/zoo.h"

namespace {

constexpr int kRounds = 40;

assay::Graph model_named(const std::string& name) {
  return name.starts_with("zoo:") ? assay::zoo_model(name.substr(4)) : assay::read_onnx(name);
}

struct Version {
  std::unique_ptr<assay::Program> program;
  std::vector<double> samples = {};

  Version(const assay::Graph& graph, const assay::ProgramOptions& options)
      : program(assay::compile(assay::infer_shapes(assay::bind_inputs(graph, {}).graph), options)) {
    program->set_inputs(assay::random_inputs(program->inputs()));
    program->observe_steps(true);
    program->run();
  }
  void run() {
    program->reset_step_times();
    program->run();
    samples.push_back(static_cast<double>(program->run_nanoseconds()) * 1e-6);
  }
  double median() {
    std::ranges::sort(samples);
    return samples[samples.size() / 2];
  }
};

void measure(const std::string& name, double level, int threads) {
  const assay::Graph model = model_named(name);
  const assay::ProgramOptions options{.cpu = {.threads = threads}};
  assay::PruneOptions pruning{.level = level};
  const assay::Graph asked = assay::prune_model(model, pruning).graph;
  pruning.keep = assay::measure_widths(model, pruning, {.program = options}).keep;
  const assay::Graph measured = assay::prune_model(model, pruning).graph;
  Version versions[] = {{model, options}, {asked, options}, {measured, options}};
  for (int i = 0; i < kRounds; ++i) {
    for (Version& version : versions) version.run();
  }
  const double original = versions[0].median();
  fmt::print("{:40} {:8.3f} ms, as asked {:8.3f} ({:.2f} x), measured widths {:8.3f} ({:.2f} x)\n",
             name, original, versions[1].median(), original / versions[1].median(),
             versions[2].median(), original / versions[2].median());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 3; i < argc; ++i) {
    try {
      measure(argv[i], std::atof(argv[1]), std::atoi(argv[2]));
    } catch (const assay::Error& error) {
      fmt::print("{}: {}\n", argv[i], error.what());
      return 1;
    }
  }
  return 0;
}
