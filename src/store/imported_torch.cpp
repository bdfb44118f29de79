// A Chrome trace of torch.profiler. Operators are nested: aten::conv2d calls aten::convolution,
// which calls aten::mkldnn_convolution. The outermost of them is what a model's author wrote, so
// its whole time counts. With a GPU, the kernels that an operator launched count instead. An
// operator that runs a whole block of a transformer is the exception: the operators that it calls
// count.
#include <algorithm>
#include <map>
#include <set>

#include "base/fail.h"
#include "store/imported_events.h"
#include "store/imported_formats.h"

namespace assay::store {

namespace {

// Builds of PyTorch without Kineto, such as Debian's, write events without a category.
constexpr const char* kTrackWithoutKineto = "CPU functions";

bool is_step_name(std::string_view name) {
  return name.starts_with("ProfilerStep");
}

bool is_kineto(const TimedEvent& event) {
  return event.category == "cpu_op";
}

bool is_operator(const TimedEvent& event) {
  if (is_kineto(event)) return true;
  return event.category.empty() && event.track.starts_with(kTrackWithoutKineto) &&
         !is_step_name(event.name);
}

bool is_gpu_work(const TimedEvent& event) {
  return event.category == "kernel" || event.category == "gpu_memcpy" ||
         event.category == "gpu_memset";
}

bool is_step(const TimedEvent& event) {
  const bool is_annotation = event.category == "user_annotation" || event.category.empty();
  return is_annotation && is_step_name(event.name);
}

const report::Json& events_in(const report::Json& root) {
  return root.is_object() ? root.at("traceEvents") : root;
}

std::vector<TimedEvent> chosen(const std::vector<TimedEvent>& events,
                               bool (*is_chosen)(const TimedEvent&)) {
  std::vector<TimedEvent> found;
  std::ranges::copy_if(events, std::back_inserter(found), is_chosen);
  std::ranges::stable_sort(found, {}, &TimedEvent::start_us);
  return found;
}

// Milliseconds that the GPU worked for each operator, by the identifier that both carry.
std::map<std::string, double> gpu_times(const std::vector<TimedEvent>& events) {
  std::map<std::string, double> times;
  for (const TimedEvent& event : events) {
    if (is_gpu_work(event)) times[argument(event, "External id")] += event.duration_us / 1000;
  }
  return times;
}

struct Operator {
  std::string name;
  double start_us = 0;
  double end_us = 0;
  double milliseconds = 0;
};

std::string plain_op(const std::string& name) {
  const auto colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

// Who calls whom, by the names of an outermost operator and of one inside it.
class Calls {
 public:
  void add_outer(const std::string& name) { ++outer_[name]; }
  void add(const std::string& outer, const std::string& inner) { ++inside_[{outer, inner}]; }
  // Rounded times nest a few operators that do not call each other.
  bool contains(const std::string& outer, const std::string& inner) const {
    constexpr std::size_t kOftenEnough = 10;  // one in ten
    const auto seen = inside_.find({outer, inner});
    const auto all = outer_.find(outer);
    return seen != inside_.end() && all != outer_.end() &&
           seen->second * kOftenEnough >= all->second;
  }

 private:
  std::map<std::string, std::size_t> outer_;
  std::map<std::pair<std::string, std::string>, std::size_t> inside_;
};

// Forward passes of modules as one operator, in which a model has many nodes.
bool is_whole_block(const TimedEvent& event) {
  static const std::set<std::string> kBlocks = {"_transformer_encoder_layer_fwd",
                                                "_transformer_decoder_only_layer_fwd",
                                                "_native_multi_head_attention"};
  return kBlocks.contains(plain_op(event.name));
}

// The blocks around the operators that were found, and what to do with a block's own time: it is
// shared out among the operators inside, so that no time is lost.
class Blocks {
 public:
  explicit Blocks(const std::vector<TimedEvent>& operators)
      : operators_(operators), around_(operators.size(), TimedEvent::kNone) {}

  // Whether no operator but blocks are around this one. To be asked for one after the other.
  bool has_only_blocks_around(std::size_t i, std::vector<Operator>& found) {
    const std::size_t parent = operators_[i].parent;
    if (parent != TimedEvent::kNone) around_[i] = is_open_[parent] ? parent : around_[parent];
    is_open_.push_back(false);
    close_until(around_[i], found);
    return parent == TimedEvent::kNone || is_open_[parent];
  }
  void open(std::size_t i, const std::vector<Operator>& found) {
    is_open_[i] = true;
    open_.push_back({i, found.size()});
  }
  void close_all(std::vector<Operator>& found) { close_until(TimedEvent::kNone, found); }

 private:
  struct Open {
    std::size_t event = 0;
    std::size_t first = 0;  // of the operators inside
  };

  void close_until(std::size_t around, std::vector<Operator>& found) {
    while (!open_.empty() && open_.back().event != around) {
      share_out(operators_[open_.back().event], open_.back().first, found);
      open_.pop_back();
    }
  }
  static void share_out(const TimedEvent& block, std::size_t first, std::vector<Operator>& found) {
    double inside_ms = 0;
    for (std::size_t i = first; i < found.size(); ++i) inside_ms += found[i].milliseconds;
    if (!(inside_ms > 0)) return;
    const double factor = block.duration_us / 1000 / inside_ms;
    for (std::size_t i = first; i < found.size(); ++i) found[i].milliseconds *= factor;
  }

  const std::vector<TimedEvent>& operators_;
  std::vector<std::size_t> around_;
  std::vector<bool> is_open_;
  std::vector<Open> open_;
};

std::vector<Operator> outermost(std::vector<TimedEvent> operators,
                                const std::map<std::string, double>& gpu, Calls& calls) {
  nest(operators, WrittenFirst::Outer);
  std::vector<Operator> found;
  std::vector<std::size_t> place(operators.size());
  Blocks blocks(operators);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const TimedEvent& event = operators[i];
    const bool is_outer = blocks.has_only_blocks_around(i, found);
    if (is_outer && gpu.empty() && is_whole_block(event)) {
      blocks.open(i, found);
      continue;
    }
    place[i] = is_outer ? found.size() : place[event.parent];
    if (is_outer) {
      found.push_back({event.name, event.start_us, event.end_us(),
                       gpu.empty() ? event.duration_us / 1000 : 0.0});
      calls.add_outer(event.name);
    } else {
      calls.add(found[place[i]].name, event.name);
    }
    const auto launched = gpu.find(argument(event, "External id"));
    if (launched != gpu.end()) found[place[i]].milliseconds += launched->second;
  }
  blocks.close_all(found);
  return found;
}

// Without Kineto times are whole microseconds, rounded down: an operator may seem to begin when the
// one that calls it ends. It belongs to that one if the same call is seen elsewhere.
std::vector<Operator> without_rounded_calls(const std::vector<Operator>& operators,
                                            const Calls& calls) {
  constexpr double kRounding_us = 1;
  std::vector<Operator> found;
  for (const Operator& one : operators) {
    const bool is_call = !found.empty() && one.start_us <= found.back().end_us + kRounding_us &&
                         calls.contains(found.back().name, one.name);
    if (is_call) {
      found.back().milliseconds += one.milliseconds;
    } else {
      found.push_back(one);
    }
  }
  return found;
}

// Operators that make another view of a tensor, pass it on, or begin one.
bool computes_nothing(const Operator& one) {
  static const std::set<std::string> kViews = {
      "as_strided",     "view",       "_unsafe_view",
      "_reshape_alias", "expand",     "unsqueeze",
      "squeeze",        "select",     "slice",
      "transpose",      "t",          "permute",
      "lift_fresh",     "dropout",    "detach",
      "alias",          "item",       "_local_scalar_dense",
      "is_nonzero",     "narrow",     "unfold",
      "empty",          "empty_like", "zero_",
      "resolve_conj",   "resolve_neg"};
  return kViews.contains(plain_op(one.name));
}

// Their time belongs to the operator before: they are short, and rounding hides some of them.
std::vector<Operator> without_views(const std::vector<Operator>& operators) {
  std::vector<Operator> found;
  for (const Operator& one : operators) {
    if (computes_nothing(one) && !found.empty()) {
      found.back().milliseconds += one.milliseconds;
    } else {
      found.push_back(one);
    }
  }
  return found;
}

// The operators of each run: those inside a step of the profiler, else one run of all.
std::vector<std::vector<Operator>> by_run(const std::vector<Operator>& operators,
                                          const std::vector<TimedEvent>& steps) {
  if (steps.empty()) return {operators};
  std::vector<std::vector<Operator>> runs(steps.size());
  for (const Operator& one : operators) {
    const auto after = std::ranges::upper_bound(steps, one.start_us, {}, &TimedEvent::start_us);
    if (after == steps.begin() || one.start_us > (after - 1)->end_us()) continue;
    runs[static_cast<std::size_t>(after - steps.begin()) - 1].push_back(one);
  }
  std::erase_if(runs, [](const auto& run) { return run.empty(); });
  return runs;
}

bool are_same(const std::vector<Operator>& a, const std::vector<Operator>& b) {
  return std::ranges::equal(a, b, {}, &Operator::name, &Operator::name);
}

// Several forward passes without steps: the whole sequence is a shorter one, repeated.
std::vector<std::vector<Operator>> split_repetitions(const std::vector<Operator>& all) {
  constexpr std::size_t kMostRuns = 10'000;
  for (std::size_t length = 1; length * 2 <= all.size(); ++length) {
    if (all.size() % length != 0 || all.size() / length > kMostRuns) continue;
    const auto repeats = [&](std::size_t i) { return all[i].name == all[i % length].name; };
    std::size_t i = length;
    while (i < all.size() && repeats(i)) ++i;
    // A network of one kind of layer repeats itself within a run.
    if (i < all.size() || length < 4) continue;
    std::vector<std::vector<Operator>> runs;
    for (std::size_t start = 0; start < all.size(); start += length) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(start);
      runs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
    }
    return runs;
  }
  return {all};
}

std::size_t equal_runs(const std::vector<std::vector<Operator>>& runs,
                       const std::vector<Operator>& one) {
  const auto is_like = [&](const auto& run) { return are_same(run, one); };
  return static_cast<std::size_t>(std::ranges::count_if(runs, is_like));
}

// The same where rounded times make some of the passes differ: a pass ends where the last operator
// is followed by the first one. One of the most frequent sequence comes last.
std::vector<std::vector<Operator>> split_passes(const std::vector<Operator>& all) {
  constexpr std::size_t kMostPasses = 200;
  std::vector<std::vector<Operator>> runs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool begins =
        i == 0 || (all[i - 1].name == all.back().name && all[i].name == all.front().name);
    if (begins) runs.emplace_back();
    runs.back().push_back(all[i]);
  }
  if (runs.size() > kMostPasses) return {all};
  const auto usual = std::ranges::max_element(
      runs.rbegin(), runs.rend(), {}, [&](const auto& run) { return equal_runs(runs, run); });
  const std::size_t equal = equal_runs(runs, *usual);
  if (equal < 2 || 2 * equal < runs.size()) return {all};
  std::rotate(usual.base() - 1, usual.base(), runs.end());
  return runs;
}

double sum_ms(const std::vector<Operator>& run) {
  double sum = 0;
  for (const Operator& one : run) sum += one.milliseconds;
  return sum;
}

using Runs = std::vector<std::vector<Operator>>;

Runs runs_of(const std::vector<Operator>& operators, const std::vector<TimedEvent>& steps) {
  Runs runs = by_run(operators, steps);
  return runs.size() == 1 ? split_repetitions(runs.front()) : runs;
}

std::size_t like_the_last(const Runs& runs) {
  return equal_runs(runs, runs.back());
}

// Where rounding makes runs differ, their views are left aside.
Runs runs_of_rounded(const std::vector<Operator>& operators, const std::vector<TimedEvent>& steps) {
  Runs runs = runs_of(operators, steps);
  if (runs.empty() || (runs.size() > 1 && like_the_last(runs) == runs.size())) return runs;
  const std::vector<Operator> computing = without_views(operators);
  Runs plain = runs_of(computing, steps);
  if (plain.size() == 1) plain = split_passes(computing);
  return like_the_last(plain) > like_the_last(runs) ? plain : runs;
}

// Fresh tensors, such as the initial state of an LSTM, are made for the operator after them.
bool makes_a_tensor(const Operator& one) {
  static const std::set<std::string> kMakers = {"zeros",     "ones",  "full",  "zeros_like",
                                                "ones_like", "empty", "zero_", "fill_"};
  return kMakers.contains(plain_op(one.name));
}

void add_kernels(const std::vector<std::vector<Operator>>& runs, const std::string& device,
                 RuntimeTrace& trace) {
  for (const Operator& one : runs.front()) {
    trace.kernels.push_back(
        {.name = one.name, .op = plain_op(one.name), .algorithm = one.name, .device = device});
    trace.kernels.back().is_layout_change = makes_a_tensor(one);
  }
  for (const std::vector<Operator>& run : runs) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      trace.kernels[i].run_ms.push_back(run[i].milliseconds);
    }
  }
}

}  // namespace

bool is_torch(const report::Json& root) {
  const bool has_events = root.is_array() || (root.is_object() && root.contains("traceEvents") &&
                                              root.at("traceEvents").is_array());
  if (!has_events) return false;
  return std::ranges::any_of(events_in(root), [](const report::Json& event) {
    if (!event.is_object()) return false;
    return event.contains("cat") ? event.at("cat") == "cpu_op"
                                 : event.contains("pid") && event.at("pid") == kTrackWithoutKineto;
  });
}

RuntimeTrace read_torch(const report::Json& root, const std::string& file) {
  const std::vector<TimedEvent> events = complete_events(events_in(root), file);
  const auto gpu = gpu_times(events);
  const std::vector<TimedEvent> steps = chosen(events, is_step);
  Calls calls;
  const std::vector<Operator> operators = outermost(chosen(events, is_operator), gpu, calls);
  const bool is_rounded = std::ranges::none_of(events, is_kineto);
  Runs runs = is_rounded ? runs_of_rounded(without_rounded_calls(operators, calls), steps)
                         : runs_of(operators, steps);
  RuntimeTrace trace{.runtime = "PyTorch", .file = file};
  const std::size_t before = runs.size();
  if (runs.empty()) fail_bad_input("{}: no operator ran in a step of the profiler", file);
  const std::vector<Operator> first = runs.back();
  std::erase_if(runs, [&](const auto& run) { return !are_same(run, first); });
  if (runs.size() < before) {
    trace.notes.push_back(fmt::format("{} of {} runs called other operators and were left out",
                                      before - runs.size(), before));
  }
  add_kernels(runs, gpu.empty() ? "cpu" : "gpu", trace);
  for (const auto& run : runs) trace.runs_ms.push_back(sum_ms(run));
  if (steps.empty()) drop_warm_up(trace);  // a profiler's schedule has its own warm-up
  return trace;
}

}  // namespace assay::store
