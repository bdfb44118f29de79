// No model can crash assay: mutants of models go through inference, both engines and training.
//
//   fuzz_execution --testdata DIR [--mutants N] [--seed S] [--first N] [--workers N] [--findings
//   DIR]
//
// Exits with 1 when a mutant ended the process that tried it, took too long, asked for memory that
// its tensors do not need, or threw anything but an Error.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <thread>

#include "execution/campaign.h"

namespace {

using namespace assay::fuzz;

int run(int argc, char** argv) {
  CampaignOptions options{.workers = static_cast<int>(std::thread::hardware_concurrency())};
  std::filesystem::path testdata;
  CLI::App app("Runs mutants of models on every engine");
  app.add_option("--testdata", testdata, "folder of ONNX's conformance models")->required();
  app.add_option("--mutants", options.mutants, "how many");
  app.add_option("--seed", options.seed, "of the mutations");
  app.add_option("--first", options.first, "number of the first mutant");
  app.add_option("--workers", options.workers, "processes at a time");
  app.add_option("--findings", options.findings, "folder for mutants that failed");
  CLI11_PARSE(app, argc, argv);
  const auto seeds = all_seeds(testdata);
  const Counts counts = run_campaign(seeds, options);
  fmt::print(
      "{} mutants of {} models, seed {}: {} refused, {} too large to run, {} ran, "
      "{} crashed, {} hung\n",
      counts.mutants(), seeds.size(), options.seed, counts.refused, counts.too_large, counts.ran,
      counts.crashed, counts.hung);
  return counts.crashed + counts.hung == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fuzz_execution: {}\n", error.what());
    return 2;
  }
}
