#include "optimize/prune/timed_version.h"

#include <algorithm>

namespace assay::optimize {

namespace {

double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

double milliseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-6;
}

}  // namespace

TimedVersion::TimedVersion(const Graph& graph, const Bindings& bindings,
                           const ProgramOptions& options) {
  Inferred model = infer_shapes(bind_inputs(graph, bindings).graph);
  for (std::uint32_t i = 0; i < model.graph.node_count(); ++i)
    names_.push_back(model.graph.display_name(NodeId{i}));
  program_ = compile(std::move(model), options);
  program_->set_inputs(random_inputs(program_->inputs()));
  program_->run();
  program_->observe_steps(true);
}

void TimedVersion::run() {
  program_->reset_step_times();
  program_->run();
  whole_.push_back(milliseconds(program_->run_nanoseconds()));
  const auto steps = program_->step_nanoseconds();
  by_step_.resize(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) by_step_[i].push_back(milliseconds(steps[i]));
}

double TimedVersion::whole_ms() const {
  return median_of(whole_);
}

double TimedVersion::layers_ms(const std::set<std::string>& layers) const {
  double sum = 0;
  for (std::size_t i = 0; i < by_step_.size(); ++i) {
    const auto& nodes = program_->steps()[i].layers;
    const bool counts = std::ranges::any_of(
        nodes, [&](NodeId node) { return layers.contains(names_[node.number]); });
    if (counts) sum += median_of(by_step_[i]);
  }
  return sum;
}

}  // namespace assay::optimize
