// Studies: how a cost changes when one thing changes, measured on this machine. Each gives a row
// for every setting, and a verdict in a few sentences of figures.
//
// Settings are measured in turns, several rounds of them, so that other load on the machine slows
// all of them alike. A row is the round whose latency is the median of the rounds. MB are 1024²
// bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/profile.h"

namespace assay {

// How every setting is measured.
struct StudyOptions {
  std::size_t warmup = 3;  // runs
  std::size_t runs = 10;   // samples in a round, at least; more if they take a moment only
  std::size_t rounds = 5;  // over all settings
  std::uint64_t seed = 0;  // of inputs
  ProgramOptions program = {};
  // Whose ceilings count; without it some are measured within this process.
  std::optional<Machine> machine = {};
};

// What every study tells.
struct Study {
  std::optional<ModelSummary> model = {};
  std::string engine = "";
  int threads = 0;
  std::optional<Roofline> roofline = {};  // the ceilings that rows were compared with
  std::vector<std::string> verdict = {};
  std::vector<std::string> warnings = {};
};

// --- growing models

struct ScalingOptions {
  StudyOptions measuring = {};
  std::string model = "dense";  // of the zoo, with other parameters after a colon
  std::string parameter = "width";
  std::vector<std::int64_t> values = {64, 128, 256, 512};
  std::optional<std::int64_t> batch = 32;  // nothing: as the model has it
};

struct ScalingRow {
  std::int64_t size = 0;
  std::int64_t parameters = 0;
  std::int64_t flops = 0;  // of the batch
  double latency_ms = 0;
  double memory_mb = 0;  // weights and activations as the engine holds them: the working set
  double gflops_per_second = 0;
  std::string fits_in = "";         // the nearest level of memory that holds the working set: "L2"
  std::optional<Bound> bound = {};  // of most of the time
  std::optional<double> percent_of_ceiling = {};
};

// Of the last row relative to the first, or the exponents k of value ~ size^k.
struct ScalingGrowth {
  std::optional<double> parameters = {};
  std::optional<double> flops = {};
  std::optional<double> latency = {};
  std::optional<double> memory = {};
  std::optional<double> efficiency = {};  // of gflops_per_second
};

// Where the working set leaves a cache.
struct CacheEnd {
  std::string level;
  std::int64_t bytes = 0;                 // for as many threads as ran
  std::optional<std::int64_t> leaves_at;  // the first size that does not fit; nothing: all do
};

struct ModelScaling : Study {
  std::string parameter;
  std::int64_t batch = 1;
  std::vector<ScalingRow> rows;
  ScalingGrowth growth_factors = {};
  ScalingGrowth exponents = {};
  std::vector<CacheEnd> caches = {};
  std::string limited_by = "";  // "compute", "memory" or "overhead", of the largest size
  std::string work_on = "";     // what to change first
};

ModelScaling analyze_model_scaling(const ScalingOptions& options = {},
                                   Progress* progress = nullptr);
std::vector<std::string> scaling_verdict(const ModelScaling& study);

// k of value ~ size^k, by least squares of the logarithms. Nothing unless two different sizes have
// positive values.
std::optional<double> fitted_exponent(std::span<const double> sizes,
                                      std::span<const double> values);

// --- batches

struct BatchOptions {
  StudyOptions measuring = {};
  std::vector<std::int64_t> batches = {1, 8, 32, 128};
  std::optional<double> max_mb = {};  // a budget for weights and activations
  RunOptions run = {};                // bindings and inputs of the model; its program is not used
};

struct BatchRow {
  std::int64_t batch_size = 1;
  double latency_ms = 0;
  double samples_per_second = 0;
  double memory_mb = 0;
  double samples_per_second_per_mb = 0;
  bool within_budget = true;
};

struct BatchSizeEffects : Study {
  std::optional<double> max_mb = {};
  std::vector<BatchRow> rows;
  std::optional<std::int64_t> sweet_spot = {};   // nothing if no batch is within the budget
  std::optional<std::int64_t> best_batch = {};   // the highest throughput within the budget
  std::optional<std::int64_t> most_per_mb = {};  // the highest throughput per MB
};

// The sweet spot is the smallest batch that reaches this share of the best throughput within the
// budget.
inline constexpr double kSweetSpotShare = 0.97;
std::optional<std::size_t> find_sweet_spot(std::span<const BatchRow> rows);  // its position

// By default a linear layer of 256 features.
BatchSizeEffects analyze_batch_size_effects(const BatchOptions& options = {},
                                            Progress* progress = nullptr);
BatchSizeEffects analyze_batch_size_effects(const Graph& model, const std::string& name,
                                            const BatchOptions& options = {},
                                            Progress* progress = nullptr);
std::vector<std::string> batch_verdict(const BatchSizeEffects& study);

// --- operations

struct OperationOptions {
  StudyOptions measuring = {};
  // n: element-wise, reduction and matmul work on n×n matrices, convolution (3×3, 64 channels) on
  // an image of n/8×n/8 pixels, attention (8 heads of 64) on n tokens.
  std::vector<std::int64_t> sizes = {64, 256, 1024};
};

struct OperationRow {
  std::string operation;  // "element-wise", "reduction", "matmul", "convolution", "attention"
  std::int64_t size = 0;
  double latency_ms = 0;
  std::int64_t flops = 0;
  double gflops_per_second = 0;
  std::optional<double> percent_of_ceiling = {};
  std::optional<double> percent_of_peak = {};  // beyond 100 where an algorithm saves work
  std::optional<double> speedup = {};  // on all threads over one; nothing if there is one only
  std::string efficiency_class;        // "compute_bound", "memory_bound", "overhead_bound"
  std::string optimization_focus;      // "data_locality", "algorithms", "parallelization"
};

struct OperationEfficiency : Study {
  std::vector<OperationRow> rows;  // by operation, then size
  // At the largest size.
  std::vector<std::string> order = {};  // the highest GFLOP/s first
  std::string most_efficient = "";      // by GFLOP/s
  std::string least_efficient = "";
  // The farthest from its ceiling first; work that an algorithm saves counts as done.
  std::vector<std::string> priority = {};
};

OperationEfficiency benchmark_operation_efficiency(const OperationOptions& options = {},
                                                   Progress* progress = nullptr);
std::vector<std::string> operations_verdict(const OperationEfficiency& study);

// What a row's figures lead to; `bound` as in Rates.
struct OperationJudgement {
  std::optional<Bound> bound = {};
  std::optional<double> percent_of_ceiling = {};
  std::optional<double> parallel_efficiency = {};  // speed-up / threads
};
std::string efficiency_class(const OperationJudgement& judgement);
std::string optimization_focus(const OperationJudgement& judgement);

// --- the cost of measuring

struct OverheadRow {
  std::string mode;  // "bare", "timing", "layers", "trace", "counters"
  double latency_ms = 0;
  double overhead_ms = 0;      // beyond the bare run
  double overhead_factor = 1;  // latency / bare latency, the median of paired rounds
  std::string overhead_class;  // "low", "moderate", "high"
  std::string use;             // when to use the mode
};

struct ProfilingOverhead : Study {
  std::vector<OverheadRow> rows;  // bare first
  double overhead_factor = 1;     // of timing every layer, what `assay profile` does
  std::string overhead_class = "";
};

std::string_view overhead_class(double factor);  // < 2 "low", < 10 "moderate", else "high"

// By default the zoo's mlp.
ProfilingOverhead analyze_profiling_overhead(const StudyOptions& options = {},
                                             Progress* progress = nullptr);
ProfilingOverhead analyze_profiling_overhead(const Graph& model, const std::string& name,
                                             const StudyOptions& options = {},
                                             const RunOptions& run = {},
                                             Progress* progress = nullptr);
std::vector<std::string> overhead_verdict(const ProfilingOverhead& study);

// --- decoding without and with a cache of keys and values

struct DecodingOptions {
  // Of a profile, which tells attention's share and what limits a token; each is decoded once.
  StudyOptions measuring = {.warmup = 1, .runs = 5, .rounds = 1};
  std::size_t tokens = 64;                // generated
  std::vector<std::int64_t> prompt = {};  // empty: 16 tokens
};

struct DecodingRow {
  std::string mode;  // "without cache", "with cache"
  double tokens_per_second = 0;
  double time_to_first_token_ms = 0;
  double latency_ms = 0;            // of a token after the first, the median
  std::int64_t macs_per_token = 0;  // of those after the first, the mean
  std::optional<double> attention_share_macs = {};
  std::optional<double> attention_share_time = {};
  double weights_mb = 0;
  double cache_mb = 0;
  std::vector<double> tokens_ms = {};        // of every token after the first
  std::optional<double> ceiling_share = {};  // of the ceilings of arithmetic and bytes; 0..1
};

struct DecodingComparison : Study {
  std::size_t tokens = 0;
  std::size_t prompt = 0;
  std::vector<DecodingRow> rows;      // without cache, then with
  std::int64_t recomputed_macs = 0;   // by a token without cache, of what a cache would hold
  double recomputed_share = 0;        // of its MACs
  double predicted_speedup_macs = 0;  // the ratio of the MACs
  // The ratio of the least times that this machine's ceilings allow for arithmetic and bytes.
  std::optional<double> predicted_speedup = {};
  double measured_speedup = 0;
  double memory_per_token_kb = 0;  // of keys and values
  std::optional<Bound> bound_without = {};
  std::optional<Bound> bound_with = {};
  bool same_tokens = false;  // both generated the same
};

// `cached` takes past keys and values, `plain` does not.
DecodingComparison analyze_decoding(const Graph& plain, const Graph& cached,
                                    const std::string& name, const DecodingOptions& options = {},
                                    Progress* progress = nullptr);
std::vector<std::string> decoding_verdict(const DecodingComparison& study);

// --- precisions

// A model in one precision: cast when it is compiled, or quantised before.
struct PrecisionVariant {
  std::string precision;  // "fp32", "bf16", "fp16", "int8"
  Graph graph;
  std::optional<DataType> cast = {};
};

struct PrecisionStudyRow {
  std::string precision;
  double latency_ms = 0;
  double speedup = 1;    // over the first precision
  double size_mb = 0;    // stored tensors in this precision
  double memory_mb = 0;  // weights and activations as the engine holds them
  double gflops_per_second = 0;
  // Of the outputs from those of the first precision: root mean square of the difference, relative
  // to that of the outputs; missing if there are no numbers to compare.
  std::optional<double> output_deviation = {};
  // Share of the rows along the last axis of the first output whose largest element is in the same
  // place, for several random inputs.
  std::optional<double> output_agreement = {};
  std::int64_t compared_rows = 0;
};

struct PrecisionComparison : Study {
  std::int64_t batch = 1;
  std::vector<PrecisionStudyRow> rows;
  std::string fastest = "";
  std::string smallest = "";
};

// The first variant is what others are compared with.
PrecisionComparison analyze_precisions(const std::vector<PrecisionVariant>& variants,
                                       const std::string& name, const StudyOptions& options = {},
                                       const RunOptions& run = {}, Progress* progress = nullptr);
std::vector<std::string> precision_verdict(const PrecisionComparison& study);

// --- threads

struct ThreadRow {
  int threads = 1;
  double latency_ms = 0;
  double samples_per_second = 0;
  double speedup = 1;     // over the first row
  double efficiency = 1;  // speed-up per thread, relative to the first row
};

struct ThreadScaling : Study {
  std::int64_t batch = 1;
  std::vector<ThreadRow> rows;
  int ends_at = 1;  // more threads than this add less than 5 % each time
  // Of the work of one thread, by Amdahl's law at the largest number of threads.
  std::optional<double> serial_share = {};
};

// Without a list: 1, 2, 4, … and all processors that this process may run on.
ThreadScaling analyze_thread_scaling(const Graph& model, const std::string& name,
                                     std::vector<int> threads = {},
                                     const StudyOptions& options = {}, const RunOptions& run = {},
                                     Progress* progress = nullptr);
int scaling_ends_at(std::span<const ThreadRow> rows);
std::vector<std::string> threads_verdict(const ThreadScaling& study);

}  // namespace assay
