#include "optimize/quantize/observe.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "base/checked.h"
#include "base/fail.h"
#include "profile/compiled_model.h"

namespace assay::optimize {

namespace {

std::span<const float> floats_of(const Tensor& tensor, std::vector<float>& copy) {
  const auto bytes = tensor.bytes();
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const auto count = static_cast<std::size_t>(tensor.elements());
  if (address % alignof(float) == 0) return {reinterpret_cast<const float*>(bytes.data()), count};
  copy = tensor.to_vector<float>();
  return copy;
}

struct Extremes {
  float least = std::numeric_limits<float>::max();
  float greatest = std::numeric_limits<float>::lowest();
  bool is_finite = true;
};

// In lanes, so that it takes one vector instruction for many numbers.
Extremes extremes_of(std::span<const float> numbers) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> least, greatest, differences;
  least.fill(std::numeric_limits<float>::max());
  greatest.fill(std::numeric_limits<float>::lowest());
  differences.fill(0);
  const auto take = [&](std::size_t lane, float number) {
    least[lane] = number < least[lane] ? number : least[lane];
    greatest[lane] = number > greatest[lane] ? number : greatest[lane];
    differences[lane] += number - number;  // 0, or NaN for what is not finite
  };
  std::size_t i = 0;
  for (; i + kLanes <= numbers.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, numbers[i + lane]);
  }
  for (; i < numbers.size(); ++i) take(0, numbers[i]);
  Extremes found{*std::ranges::min_element(least), *std::ranges::max_element(greatest)};
  found.is_finite = std::ranges::all_of(differences, [](float sum) { return sum == 0; });
  return found;
}

// The sums of a tensor's channels, which lie along `axis`.
void add_channel_sums(std::span<const float> numbers, const std::vector<std::int64_t>& dims,
                      std::size_t axis, std::vector<double>& sums) {
  const auto channels = static_cast<std::size_t>(dims[axis]);
  const auto inner =
      static_cast<std::size_t>(checked_product(std::span(dims).subspan(axis + 1)).value_or(1));
  sums.resize(channels, 0);
  if (inner == 1) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      sums[i % channels] += static_cast<double>(numbers[i]);
    return;
  }
  for (std::size_t row = 0; row * inner < numbers.size(); ++row) {
    constexpr std::size_t kLanes = 16;
    std::array<float, kLanes> lanes = {};
    const float* from = numbers.data() + row * inner;
    std::size_t i = 0;
    for (; i + kLanes <= inner; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += from[i + lane];
    }
    double sum = 0;
    for (; i < inner; ++i) sum += static_cast<double>(from[i]);
    for (const float lane : lanes) sum += static_cast<double>(lane);
    sums[row % channels] += sum;
  }
}

// What one value has shown so far.
struct Watch {
  ValueId value;
  bool wants_range = false;
  bool wants_histogram = false;
  std::optional<std::size_t> channel_axis = {};
  std::size_t output = 0;  // of the program; for inputs of the model: which
  bool is_input = false;

  ObservedValue seen = {};
  bool has_seen = false;
  bool is_finite = true;
  std::vector<double> sums = {};
  double summed = 0;  // numbers in each sum

  void look_at(const Tensor& tensor) {
    std::vector<float> copy;
    const auto numbers = floats_of(tensor, copy);
    if (numbers.empty()) return;
    const Extremes found = extremes_of(numbers);
    is_finite = is_finite && found.is_finite;
    if (!is_finite) return;
    if (wants_range) add_range(found);
    if (wants_histogram) seen.histogram.add(numbers, found.least, found.greatest);
    if (!channel_axis) return;
    add_channel_sums(numbers, tensor.dims(), *channel_axis, sums);
    summed += static_cast<double>(numbers.size()) / static_cast<double>(sums.size());
  }

  void add_range(const Extremes& found) {
    const ValueRange now{found.least, found.greatest};
    seen.range.least = has_seen ? std::min(seen.range.least, now.least) : now.least;
    seen.range.greatest = has_seen ? std::max(seen.range.greatest, now.greatest) : now.greatest;
    has_seen = true;
  }

  std::vector<double> means() const {
    std::vector<double> result = sums;
    for (double& sum : result) sum /= summed;
    return result;
  }
};

// On as many threads as the program had, which is idle now; each takes the next watch.
template <typename Look>
void for_each_watch(std::vector<Watch>& watches, int threads, const Look& look) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < watches.size(); i = next++) look(watches[i]);
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
}

class Observer {
 public:
  Observer(const Graph& graph, const CalibrationData& data, const ObserveRequest& request,
           const ProgramOptions& options, Progress* progress)
      : graph_(graph), data_(data), request_(request), options_(options), progress_(progress) {}

  Observations run() && {
    if (data_.batches == 0)
      fail_bad_input(
          "there is no calibration data: quantising wants at least one batch of inputs to observe "
          "activations on");
    std::vector<Watch> watches = all_watches();
    const std::vector<Tensor> first = checked_batch(0);
    plan_memory(watches, first);
    const auto groups = grouped(std::move(watches));
    for (std::size_t i = 0; i < groups.size(); ++i) observe_group(groups[i], i, groups.size());
    return std::move(result_);
  }

 private:
  std::vector<Watch> all_watches() const {
    std::map<ValueId, Watch> watches;
    for (const ValueId value : request_.ranges) {
      watches[value].wants_range = true;
      watches[value].wants_histogram = request_.histograms;
    }
    for (const auto& [value, axis] : request_.means) watches[value].channel_axis = axis;
    std::vector<Watch> list;
    for (auto& [value, watch] : watches) {
      watch.value = value;
      list.push_back(std::move(watch));
    }
    return list;
  }

  std::vector<Tensor> checked_batch(std::size_t i) const {
    std::vector<Tensor> batch = data_.batch(i);
    if (batch.size() != graph_.inputs().size())
      fail_bad_input("calibration batch {}: the model has {} inputs, {} given", i,
                     graph_.inputs().size(), batch.size());
    return batch;
  }

  // Bytes of all values to observe, for one batch: from shapes where they are known, else from a
  // compiled model.
  void plan_memory(const std::vector<Watch>& watches, const std::vector<Tensor>& batch) {
    Bindings bindings;
    for (std::size_t i = 0; i < batch.size(); ++i)
      bindings.input_shapes.emplace(graph_.value(graph_.inputs()[i]).name, batch[i].shape());
    const Inferred bound = infer_shapes(bind_inputs(graph_, bindings).graph);
    bytes_.assign(graph_.value_count(), 0);
    std::int64_t all = 0;
    for (const Watch& watch : watches) {
      const ValueType& type = bound.graph.value(watch.value).type;
      if (type.has_known_shape())
        bytes_[watch.value.number] = type.shape->elements().value_or(0) * std::int64_t{4};
      all += bytes_[watch.value.number];
    }
    if (all <= request_.most_bytes || !has_free_batch()) return;
    const std::int64_t rows = batch.front().dims().empty() ? 1 : batch.front().dims()[0];
    rows_ = std::max<std::int64_t>(1, rows * request_.most_bytes / all);
    for (std::int64_t& bytes : bytes_) bytes = bytes * rows_ / rows;
  }

  bool has_free_batch() const {
    return std::ranges::all_of(graph_.inputs(), [&](ValueId input) {
      const ValueType& type = graph_.value(input).type;
      return type.shape && type.shape->rank() > 0 && !(*type.shape)[0].is_known();
    });
  }

  std::vector<std::vector<Watch>> grouped(std::vector<Watch> watches) const {
    std::vector<std::vector<Watch>> groups(1);
    std::int64_t bytes = 0;
    for (Watch& watch : watches) {
      const std::int64_t more = bytes_[watch.value.number];
      if (bytes + more > request_.most_bytes && !groups.back().empty()) {
        groups.emplace_back();
        bytes = 0;
      }
      bytes += more;
      groups.back().push_back(std::move(watch));
    }
    return groups;
  }

  // The model with the watched values as outputs.
  Graph with_outputs(std::vector<Watch>& watches) const {
    Graph graph = graph_;
    for (Watch& watch : watches) {
      const auto input = std::ranges::find(graph.inputs(), watch.value);
      watch.is_input = input != graph.inputs().end();
      if (watch.is_input) {
        watch.output = static_cast<std::size_t>(input - graph.inputs().begin());
        continue;
      }
      const auto known = std::ranges::find(graph.outputs(), watch.value);
      watch.output = static_cast<std::size_t>(known - graph.outputs().begin());
      if (known == graph.outputs().end()) graph.add_output(watch.value);
    }
    return graph;
  }

  void observe_group(std::vector<Watch> watches, std::size_t group, std::size_t groups) {
    const Graph graph = with_outputs(watches);
    program_.reset();
    for (std::size_t i = 0; i < data_.batches; ++i) {
      if (progress_ != nullptr) {
        const double done = static_cast<double>(group * data_.batches + i);
        progress_->report(done / static_cast<double>(groups * data_.batches),
                          "observing activations");
        if (progress_->cancelled()) throw Error(ErrorKind::Cancelled, "calibration was cancelled");
      }
      for (const std::vector<Tensor>& part : parts_of(checked_batch(i))) {
        if (group == 0) result_.samples += rows_of(part);
        run_on(graph, part, watches);
      }
    }
    for (Watch& watch : watches) keep(watch);
  }

  static std::size_t rows_of(const std::vector<Tensor>& batch) {
    const bool has_rows = !batch.empty() && !batch.front().dims().empty();
    return has_rows ? static_cast<std::size_t>(batch.front().dims()[0]) : 1;
  }

  std::vector<std::vector<Tensor>> parts_of(const std::vector<Tensor>& batch) const {
    const auto rows = static_cast<std::int64_t>(rows_of(batch));
    if (rows_ == 0 || rows_ >= rows) return {batch};
    std::vector<std::vector<Tensor>> parts;
    for (std::int64_t first = 0; first < rows; first += rows_) {
      parts.emplace_back();
      for (const Tensor& tensor : batch)
        parts.back().push_back(tensor.rows(first, std::min(rows_, rows - first)));
    }
    return parts;
  }

  void run_on(const Graph& graph, const std::vector<Tensor>& batch, std::vector<Watch>& watches) {
    const bool fits = program_ != nullptr && std::ranges::equal(batch, shapes_, {}, &Tensor::dims);
    if (fits) {
      program_->set_inputs(batch);
    } else {
      program_ = profile::compiled_for(graph, batch, options_);
      shapes_.clear();
      for (const Tensor& tensor : batch) shapes_.push_back(tensor.dims());
    }
    program_->run();
    const std::vector<Tensor> results = program_->results();
    for_each_watch(watches, program_->threads(), [&](Watch& watch) {
      watch.look_at(watch.is_input ? batch[watch.output] : results[watch.output]);
    });
    for (const Watch& watch : watches) check_finite(watch);
  }

  void check_finite(const Watch& watch) const {
    if (watch.is_finite) return;
    const std::string& name = graph_.value(watch.value).name;
    if (watch.is_input)
      fail_bad_input("the calibration data for input '{}' has a number that is not finite", name);
    const NodeId maker = graph_.producer(watch.value);
    fail_bad_input(
        "{} '{}': its result '{}' has a number that is not finite on the calibration data, so it "
        "has "
        "no range; check the data's scaling, or keep the layer in float",
        graph_.node(maker).op, graph_.display_name(maker), name);
  }

  void keep(Watch& watch) {
    if (watch.channel_axis && watch.summed > 0) result_.means.emplace(watch.value, watch.means());
    if (watch.wants_range) result_.values.emplace(watch.value, std::move(watch.seen));
  }

  const Graph& graph_;
  const CalibrationData& data_;
  const ObserveRequest& request_;
  const ProgramOptions& options_;
  Progress* progress_ = nullptr;
  std::vector<std::int64_t> bytes_;  // by value
  std::int64_t rows_ = 0;            // of a batch at a time; 0: all
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
