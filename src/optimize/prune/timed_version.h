// A version of a model, compiled, with the times of its steps.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "assay/bind.h"
#include "assay/program.h"

namespace assay::optimize {

class TimedVersion {
 public:
  TimedVersion(const Graph& graph, const Bindings& bindings, const ProgramOptions& options);

  void run();               // once, on random inputs
  double whole_ms() const;  // the median of the runs
  // Of the steps that compute one of these layers: the sum of their medians.
  double layers_ms(const std::set<std::string>& layers) const;

 private:
  std::vector<std::string> names_;  // by node
  std::unique_ptr<Program> program_;
  std::vector<double> whole_;
  std::vector<std::vector<double>> by_step_;
};

}  // namespace assay::optimize
