// What timing every step costs: the same program with and without it, in turns.
//
//   bench_observe [MODEL ...] [seconds each]
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "assay/program.h"
#include "assay/timing.h"

namespace {

using namespace assay;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Microseconds a run, over `runs` runs.
double time_of(Program& program, std::size_t runs) {
  const std::int64_t start = steady_clock().nanoseconds();
  for (std::size_t i = 0; i < runs; ++i) program.run();
  return static_cast<double>(steady_clock().nanoseconds() - start) / 1e3 /
         static_cast<double>(runs);
}

void compare(const std::string& name, int threads, double seconds) {
  BoundGraph bound = bind_inputs(zoo_model(name), {});
  ProgramOptions options;
  options.cpu.threads = threads;
  const auto program = compile(infer_shapes(std::move(bound.graph)), options);
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  constexpr double kSampleMicroseconds = 2000;
  const double once = time_of(*program, 3);
  const auto runs = static_cast<std::size_t>(std::max(1.0, kSampleMicroseconds / once));
  std::vector<double> off, on, ratios;
  const std::int64_t end = steady_clock().nanoseconds() + static_cast<std::int64_t>(seconds * 1e9);
  for (int turn = 0; steady_clock().nanoseconds() < end || turn < 10; ++turn) {
    double times[2] = {};
    for (const int side : {turn % 2, 1 - turn % 2}) {
      program->observe_steps(side == 1);
      times[side] = time_of(*program, runs);
    }
    off.push_back(times[0]);
    on.push_back(times[1]);
    ratios.push_back(times[1] / times[0]);
  }
  fmt::print("{:16} {:7} {:12.2f} {:12.2f} {:8.4f} {:8}\n", name, threads, median(off), median(on),
             median(ratios), ratios.size());
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::string> models;
  double seconds = 10;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word.find_first_not_of("0123456789.") == std::string::npos) {
      seconds = std::atof(word.c_str());
    } else {
      models.push_back(word);
    }
  }
  if (models.empty()) models = {"small_cnn_gap", "resnet50"};
  fmt::print("{:16} {:>7} {:>12} {:>12} {:>8} {:>8}\n", "model", "threads", "off, µs", "on, µs",
             "on / off", "pairs");
  for (const std::string& model : models) {
    for (const int threads : {1, 2}) compare(model, threads, seconds);
  }
}
