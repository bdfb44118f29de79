// ONNX Runtime's profile (SessionOptions.enable_profiling): an event `NAME_kernel_time` for every
// kernel of every run, inside an event `model_run`. The body of If, Loop and Scan runs inside the
// kernel of that node.
#include <algorithm>
#include <array>

#include "base/fail.h"
#include "store/imported_events.h"
#include "store/imported_formats.h"

namespace assay::store {

namespace {

constexpr std::string_view kKernelSuffix = "_kernel_time";

bool is_kernel(const TimedEvent& event) {
  return event.category == "Node" && event.name.ends_with(kKernelSuffix);
}

// Whole runs, in order. A session's other events (loading, the executor) are no runs.
std::vector<TimedEvent> runs_in(const std::vector<TimedEvent>& events) {
  std::vector<TimedEvent> runs;
  const auto is_run = [](const TimedEvent& event) {
    return event.category == "Session" && event.name == "model_run";
  };
  std::ranges::copy_if(events, std::back_inserter(runs), is_run);
  std::ranges::stable_sort(runs, {}, &TimedEvent::start_us);
  return runs;
}

std::optional<std::size_t> run_of(const TimedEvent& kernel, const std::vector<TimedEvent>& runs) {
  const auto after = std::ranges::upper_bound(runs, kernel.start_us, {}, &TimedEvent::start_us);
  if (after == runs.begin()) return {};
  const auto run = after - 1;
  if (kernel.start_us > run->end_us()) return {};
  return static_cast<std::size_t>(run - runs.begin());
}

// [{"float": [1, 3, 224, 224]}, …]
const report::Json* first_typed_shape(const TimedEvent& event, const char* key) {
  if (!event.args || !event.args->contains(key)) return nullptr;
  const report::Json& list = event.args->at(key);
  if (!list.is_array() || list.empty() || !list[0].is_object() || list[0].empty()) return nullptr;
  return &list[0];
}

std::optional<std::vector<std::int64_t>> dims_written(const TimedEvent& event) {
  const report::Json* typed = first_typed_shape(event, "output_type_shape");
  if (!typed) return {};
  const report::Json& shape = typed->begin().value();
  if (!shape.is_array()) return {};
  std::vector<std::int64_t> dims;
  for (const report::Json& dim : shape) {
    if (!dim.is_number_integer()) return {};
    dims.push_back(dim.get<std::int64_t>());
  }
  return dims;
}

std::string precision_read(const TimedEvent& event) {
  constexpr std::array<std::pair<std::string_view, const char*>, 5> kPrecisions = {
      {{"float", "fp32"},
       {"float16", "fp16"},
       {"bfloat16", "bf16"},
       {"int8", "int8"},
       {"uint8", "int8"}}};
  const report::Json* typed = first_typed_shape(event, "input_type_shape");
  if (!typed) return "";
  const std::string type = typed->begin().key();
  const auto found =
      std::ranges::find(kPrecisions, type, [](const auto& one) { return one.first; });
  return found == kPrecisions.end() ? type : found->second;
}

// What optimizations put before the name of the node that they replace.
std::string without_fused_prefix(const std::string& name) {
  for (const std::string_view prefix : {"fused ", "fused_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

RuntimeKernel onnxruntime_kernel(const TimedEvent& event) {
  RuntimeKernel kernel{.name = event.name.substr(0, event.name.size() - kKernelSuffix.size()),
                       .op = argument(event, "op_name"),
                       .precision = precision_read(event),
                       .output_dims = dims_written(event)};
  kernel.node_names = {kernel.name};
  if (auto plain = without_fused_prefix(kernel.name); plain != kernel.name) {
    kernel.node_names.push_back(std::move(plain));
  }
  kernel.is_layout_change = kernel.op.starts_with("Reorder") || kernel.op.starts_with("Memcpy");
  const std::string provider = argument(event, "provider");
  if (!provider.empty() && provider != "CPUExecutionProvider") kernel.device = provider;
  return kernel;
}

int threads_of(const TimedEvent& event) {
  if (!event.args || !event.args->contains("thread_scheduling_stats")) return 0;
  const report::Json& stats = event.args->at("thread_scheduling_stats");
  if (!stats.is_object() || !stats.contains("sub_threads")) return 0;
  return 1 + static_cast<int>(std::min<std::size_t>(stats.at("sub_threads").size(), 100'000));
}

class OnnxRuntimeReader {
 public:
  OnnxRuntimeReader(std::vector<TimedEvent> events, std::vector<TimedEvent> runs)
      : events_(std::move(events)), runs_(std::move(runs)), table_(runs_.size()) {
    for (std::size_t i = 0; i < events_.size(); ++i) add(i);
  }

  std::vector<RuntimeKernel> take_kernels() { return table_.take(); }
  int threads() const { return threads_; }
  std::size_t outside_runs() const { return outside_runs_; }
  bool has_changing_shapes() const { return has_changing_shapes_; }

 private:
  void add(std::size_t at) {
    const TimedEvent& event = events_[at];
    const auto run = run_of(event, runs_);
    keys_.emplace_back();
    places_.push_back(RuntimeKernel::kNoParent);
    if (!run) {
      ++outside_runs_;
      return;
    }
    const std::string around = event.parent == TimedEvent::kNone ? "" : keys_[event.parent];
    keys_.back() = around + "\n" + event.name + "\n" + argument(event, "node_index");
    const std::size_t kernel =
        table_.find_or_add(keys_.back(), [&] { return onnxruntime_kernel(event); });
    places_.back() = kernel;
    if (event.parent != TimedEvent::kNone) table_.at(kernel).parent = places_[event.parent];
    const auto dims = dims_written(event);
    if (dims && dims != table_.at(kernel).output_dims && around.empty()) {
      has_changing_shapes_ = true;
      table_.at(kernel).output_dims = dims;
    }
    table_.add_time(kernel, *run, event.own_us() / 1000);
    threads_ = std::max(threads_, threads_of(event));
  }

  std::vector<TimedEvent> events_;
  std::vector<TimedEvent> runs_;
  KernelTable table_;
  std::vector<std::string> keys_;    // of the events so far
  std::vector<std::size_t> places_;  // and their kernels
  int threads_ = 0;
  std::size_t outside_runs_ = 0;
  bool has_changing_shapes_ = false;
};

}  // namespace

bool is_onnxruntime(const report::Json& root) {
  if (!root.is_array()) return false;
  return std::ranges::any_of(root, [](const report::Json& event) {
    if (!event.is_object() || !event.contains("cat") || !event.contains("ph")) return false;
    return event.at("cat") == "Node" || event.at("cat") == "Session";
  });
}

RuntimeTrace read_onnxruntime(const report::Json& root, const std::string& file) {
  std::vector<TimedEvent> events = complete_events(root, file);
  std::vector<TimedEvent> runs = runs_in(events);
  if (runs.empty()) {
    fail_bad_input(
        "{}: this profile of ONNX Runtime holds no run (no event 'model_run'): run the "
        "session before end_profiling()",
        file);
  }
  std::erase_if(events, [](const TimedEvent& event) { return !is_kernel(event); });
  nest(events, WrittenFirst::Inner);
  RuntimeTrace trace{.runtime = "ONNX Runtime", .file = file, .has_whole_runs = true};
  for (const TimedEvent& run : runs) trace.runs_ms.push_back(run.duration_us / 1000);
  OnnxRuntimeReader reader(std::move(events), std::move(runs));
  trace.kernels = reader.take_kernels();
  if (reader.threads() > 0) trace.threads = reader.threads();
  if (reader.outside_runs() > 0) {
    trace.notes.push_back(
        fmt::format("{} kernels outside of any run were left out", reader.outside_runs()));
  }
  if (reader.has_changing_shapes()) {
    trace.notes.emplace_back(
        "the runs had inputs of different shapes; counts are those of the shape given");
  }
  drop_warm_up(trace);
  return trace;
}

}  // namespace assay::store
