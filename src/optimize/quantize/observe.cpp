#include "optimize/quantize/observe.h"

#include <algorithm>
#include <cmath>

#include "assay/memory.h"
#include "base/fail.h"
#include "optimize/quantize/watch.h"
#include "profile/compiled_model.h"

namespace assay::optimize {

namespace {

std::size_t rows_of(const std::vector<Tensor>& batch) {
  const bool has_rows = !batch.empty() && !batch.front().dims().empty();
  return has_rows ? static_cast<std::size_t>(batch.front().dims()[0]) : 1;
}

// Rows of the first, then of the next: all alike in type and other dimensions.
Tensor joined_rows(const std::vector<const Tensor*>& parts) {
  std::vector<std::int64_t> dims = parts.front()->dims();
  dims[0] = 0;
  std::vector<std::byte> bytes;
  for (const Tensor* part : parts) {
    dims[0] += part->dims()[0];
    const auto more = part->bytes();
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return Tensor(parts.front()->type(), dims, heap_storage(std::move(bytes)));
}

bool can_be_joined(const std::vector<Tensor>& one, const std::vector<Tensor>& other) {
  return std::ranges::equal(one, other, [](const Tensor& a, const Tensor& b) {
    return a.type() == b.type() && a.dims().size() == b.dims().size() &&
           std::equal(a.dims().begin() + 1, a.dims().end(), b.dims().begin() + 1);
  });
}

// What an activation that is not finite comes from, if not from the data.
void refuse_broken_weights(const Graph& graph) {
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    for (const ValueId input : graph.node(NodeId{i}).inputs) {
      const Tensor* stored = input.is_valid() ? graph.initializer(input) : nullptr;
      if (stored == nullptr || !is_floating(stored->type())) continue;
      const std::vector<double> numbers = stored->to_double();
      if (std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); }))
        continue;
      fail_bad_input(
          "{} '{}': its weight '{}' has a number that is not finite; train or export the model "
          "again",
          graph.node(NodeId{i}).op, graph.display_name(NodeId{i}), graph.value(input).name);
    }
  }
}

// Samples that wait until there are enough of them for a run.
class WaitingRows {
 public:
  std::size_t count() const { return count_; }
  bool takes(const std::vector<Tensor>& batch) const {
    return batches_.empty() || can_be_joined(batches_.front(), batch);
  }
  void add(std::vector<Tensor> batch) {
    count_ += rows_of(batch);
    batches_.push_back(std::move(batch));
  }
  std::vector<Tensor> take() {
    count_ = 0;
    std::vector<std::vector<Tensor>> batches = std::move(batches_);
    batches_.clear();
    if (batches.size() == 1) return std::move(batches.front());
    std::vector<Tensor> joined;
    for (std::size_t input = 0; input < batches.front().size(); ++input) {
      std::vector<const Tensor*> parts;
      for (const auto& batch : batches) parts.push_back(&batch[input]);
      joined.push_back(joined_rows(parts));
    }
    return joined;
  }

 private:
  std::vector<std::vector<Tensor>> batches_;
  std::size_t count_ = 0;
};

class Observer {
 public:
  Observer(const Graph& graph, const CalibrationData& data, const ObserveRequest& request,
           const ProgramOptions& options, Progress* progress)
      : graph_(graph), data_(data), request_(request), options_(options), progress_(progress) {
    options_.keep_outputs = false;
    // A few runs: to time algorithms would take longer than the best ones save.
    options_.optimize_for = OptimizeFor::Memory;
  }

  Observations run() && {
    if (data_.batches == 0)
      fail_bad_input(
          "there is no calibration data: quantising wants at least one batch of inputs to observe "
          "activations on");
    find_watches();
    for (std::size_t i = 0; i < data_.batches; ++i) {
      report(i);
      std::vector<Tensor> batch = checked_batch(i);
      if (i == 0) choose_rows(batch);
      observe_batch(batch);
    }
    if (waiting_.count() > 0) run_on(waiting_.take());
    for (auto* watches : {&inputs_, &outputs_}) {
      for (Watch& watch : *watches) keep(watch);
    }
    return std::move(result_);
  }

 private:
  // Inputs of the model are looked at as they come; all others become the outputs of a graph.
  void find_watches() {
    std::map<ValueId, Watch> watches;
    for (const ValueId value : request_.ranges) {
      watches[value].wants_range = true;
      watches[value].wants_histogram = request_.histograms;
    }
    for (const auto& [value, axis] : request_.means) watches[value].channel_axis = axis;
    watched_ = graph_;
    for (auto& [value, watch] : watches) {
      watch.value = value;
      const bool is_input = std::ranges::find(graph_.inputs(), value) != graph_.inputs().end();
      if (!is_input) watched_.add_output(value);
      (is_input ? inputs_ : outputs_).push_back(std::move(watch));
    }
  }

  // Outputs of the model itself come first.
  void look_at(const OutputView& view) {
    const std::size_t own = graph_.outputs().size();
    if (view.output >= own) outputs_[view.output - own].look_at(view, program_->threads());
  }

  void report(std::size_t batch) const {
    if (progress_ == nullptr) return;
    progress_->report(static_cast<double>(batch) / static_cast<double>(data_.batches),
                      "observing activations");
    if (progress_->cancelled()) throw Error(ErrorKind::Cancelled, "calibration was cancelled");
  }

  std::vector<Tensor> checked_batch(std::size_t i) const {
    std::vector<Tensor> batch = data_.batch(i);
    if (batch.size() != graph_.inputs().size())
      fail_bad_input("calibration batch {}: the model has {} inputs, {} given", i,
                     graph_.inputs().size(), batch.size());
    return batch;
  }

  // As many as share weights well and fit into memory, if the model takes any number of them.
  void choose_rows(const std::vector<Tensor>& batch) {
    if (!has_free_batch()) return;
    std::vector<Tensor> one;
    for (const Tensor& tensor : batch) one.push_back(tensor.rows(0, 1));
    const std::int64_t bytes = plan_memory(bound_to(one)).arena_bytes;
    rows_ = static_cast<std::size_t>(std::clamp<std::int64_t>(
        request_.most_bytes / std::max<std::int64_t>(bytes, 1), 1, request_.most_rows));
  }

  Inferred bound_to(const std::vector<Tensor>& batch) const {
    Bindings bindings;
    for (std::size_t i = 0; i < batch.size(); ++i)
      bindings.input_shapes.emplace(graph_.value(graph_.inputs()[i]).name, batch[i].shape());
    return infer_shapes(bind_inputs(graph_, bindings).graph);
  }

  bool has_free_batch() const {
    return std::ranges::all_of(graph_.inputs(), [&](ValueId input) {
      const ValueType& type = graph_.value(input).type;
      return type.shape && type.shape->rank() > 0 && !(*type.shape)[0].is_known();
    });
  }

  void observe_batch(const std::vector<Tensor>& batch) {
    const std::size_t rows = rows_of(batch);
    result_.samples += rows;
    if (rows_ == 0) return run_on(batch);
    for (std::size_t first = 0; first < rows; first += rows_) {
      std::vector<Tensor> part;
      for (const Tensor& tensor : batch)
        part.push_back(tensor.rows(static_cast<std::int64_t>(first),
                                   static_cast<std::int64_t>(std::min(rows_, rows - first))));
      if (!waiting_.takes(part) || waiting_.count() + rows_of(part) > rows_)
        run_on(waiting_.take());
      waiting_.add(std::move(part));
      if (waiting_.count() == rows_) run_on(waiting_.take());
    }
  }

  void run_on(const std::vector<Tensor>& batch) {
    feed(batch);
    for (Watch& watch : inputs_) {
      const auto input = std::ranges::find(graph_.inputs(), watch.value) - graph_.inputs().begin();
      watch.look_at(batch[static_cast<std::size_t>(input)], program_->threads());
      if (!watch.is_finite)
        fail_bad_input("the calibration data for input '{}' has a number that is not finite",
                       graph_.value(watch.value).name);
    }
    program_->run();
    for (const Watch& watch : outputs_) check_finite(watch);
  }

  void feed(const std::vector<Tensor>& batch) {
    const bool fits = program_ != nullptr && std::ranges::equal(batch, shapes_, {}, &Tensor::dims);
    if (fits) return program_->set_inputs(batch);
    program_.reset();
    program_ = profile::compiled_for(watched_, batch, options_);
    program_->on_output([&](const OutputView& view) { look_at(view); });
    shapes_.clear();
    for (const Tensor& tensor : batch) shapes_.push_back(tensor.dims());
  }

  void check_finite(const Watch& watch) const {
    if (watch.is_finite) return;
    refuse_broken_weights(graph_);
    const NodeId maker = graph_.producer(watch.value);
    fail_bad_input(
        "{} '{}': its result '{}' has a number that is not finite on the calibration data, so it "
        "has "
        "no range; check the data's scaling, or keep the layer in float",
        graph_.node(maker).op, graph_.display_name(maker), graph_.value(watch.value).name);
  }

  void keep(Watch& watch) {
    if (watch.channel_axis && watch.summed > 0) result_.means.emplace(watch.value, watch.means());
    if (watch.wants_range) result_.values.emplace(watch.value, std::move(watch.seen));
  }

  const Graph& graph_;
  const CalibrationData& data_;
  const ObserveRequest& request_;
  ProgramOptions options_;
  Progress* progress_ = nullptr;
  Graph watched_;  // with all values of `outputs_` as further outputs
  std::vector<Watch> inputs_;
  std::vector<Watch> outputs_;
  std::size_t rows_ = 0;  // of a run; 0: a batch as it comes
  WaitingRows waiting_;
  std::unique_ptr<Program> program_;
  std::vector<std::vector<std::int64_t>> shapes_;  // that it was compiled for
  Observations result_;
};

}  // namespace

Observations observe(const Graph& graph, const CalibrationData& data, const ObserveRequest& request,
                     const ProgramOptions& options, Progress* progress) {
  return Observer(graph, data, request, options, progress).run();
}

}  // namespace assay::optimize
