// How long a model takes here, and what would make it faster: example_profile [MODEL.onnx]
#include <exception>
#include <iostream>

#include "assay/onnx.h"
#include "assay/profile.h"
#include "assay/zoo.h"

namespace {

assay::ProfileOptions short_measurement() {
  assay::ProfileOptions options;
  options.timing.min_seconds = 0.05;
  options.timing.max_seconds = 0.5;
  options.run.program.cpu.threads = 1;
  return options;
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string name = count > 1 ? words[1] : "lenet5";
    assay::Graph model = count > 1 ? assay::read_onnx(name) : assay::zoo_model(name);
    const assay::Profile profile =
        assay::profile_model(std::move(model), name, short_measurement());
    const assay::LatencySummary& latency = profile.latency.latency;
    std::cout << "median latency " << latency.median_ms << " ms";
    if (latency.ci95_low_ms && latency.ci95_high_ms) {
      std::cout << ", 95 % interval " << *latency.ci95_low_ms << " to " << *latency.ci95_high_ms
                << " ms";
    }
    std::cout << "\n";
    for (const assay::Advice& advice : profile.advice) {
      std::cout << advice.saving_ms << " ms  " << advice.rule << ": " << advice.reason << " → "
                << advice.action << "\n";
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
