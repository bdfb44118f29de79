// Sweeps: many versions of a model made, measured and judged, on one machine or on many.
//
// A plan is a list of tasks, each with an identifier made from everything its result depends on.
// Tasks run one after the other in processes of their own. Each result is one line of an
// append-only journal; everything else in the folder is derived from journals and can be made
// again. A sweep that was interrupted, or whose configuration changed, does only what is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/progress.h"
#include "assay/sweep_config.h"
#include "assay/sweep_result.h"

namespace assay {

// The first three make models, which other tasks read; the others give results.
enum class SweepTaskKind { Train, Prune, Quantize, Measure, Deploy };
std::string_view name(SweepTaskKind kind);  // "train", "prune", …

struct SweepTask {
  std::string id = "";  // 16 hexadecimal digits
  SweepTaskKind kind = SweepTaskKind::Measure;
  std::string input = "";     // the task that makes the model it starts from; empty: the first
  std::string baseline = "";  // the task that makes the model it is compared with
  std::uint64_t seed = 0;
  double pruning_level = 0;
  std::string precision = "fp32";
  std::int64_t batch_size = 0;
  int threads = 0;  // 0: all processors

  bool makes_model() const { return kind < SweepTaskKind::Measure; }
};
std::string describe(const SweepTask& task);  // "measure int8, pruned by 0.25"

struct SweepPlan {
  SweepConfig config = {};
  std::string model_sha256 = "";  // of the file; of a zoo network: its name
  std::vector<std::pair<std::uint64_t, std::string>> data_sha256 = {};  // by seed
  std::vector<SweepTask> tasks = {};  // makers before those that read what they make
};

// Loads the model and the data, checks that they fit together, and lists the tasks.
SweepPlan plan_sweep(const SweepConfig& config);
// A rough estimate of the seconds that each task takes, from MACs and this machine's ceilings.
std::vector<double> estimate_seconds(const SweepPlan& plan);

// FOLDER/plan.json.
void write_plan(const std::filesystem::path& folder, const SweepPlan& plan);
SweepPlan read_plan(const std::filesystem::path& folder);

struct SweepOptions {
  std::size_t shard = 0;  // this worker's; every `shards`th task is its own
  std::size_t shards = 1;
  bool retries_errors = false;  // tasks that failed before are done again
  std::string command = "";     // for reproducibility.json
};

struct SweepOutcome {
  std::size_t tasks = 0;  // of this worker, that give results
  std::size_t done_before = 0;
  std::size_t done_now = 0;
  std::size_t failed = 0;  // of those done now
  bool interrupted = false;
  std::vector<std::string> warnings = {};
};

// Does the tasks of one shard that are not done yet. FOLDER has a plan. When `progress` cancels,
// the result that is being measured is still written. Another sweep in the same folder, unless
// both are shards, is an Error.
SweepOutcome work_on_sweep(const std::filesystem::path& folder, const SweepOptions& options = {},
                           Progress* progress = nullptr);
// Makes every model of the plan, so that workers without a common folder only measure.
SweepOutcome prepare_models(const std::filesystem::path& folder, Progress* progress = nullptr);

// Reads all journals of the folder. Results of a task that was done twice are taken once.
struct MergedSweep {
  // For each machine, the one with the most rows first, and for each seed.
  std::vector<SweepRun> runs = {};
  std::vector<SweepTask> missing = {};  // that give results
  std::size_t records = 0;
  std::size_t duplicates = 0;
  std::size_t damaged_lines = 0;
  std::size_t foreign = 0;  // records of tasks that are not in the plan
  std::vector<std::string> warnings = {};
};
MergedSweep merge_sweep(const std::filesystem::path& folder, const std::string& command = "");
// Writes everything that is derived from the results: each file whole or not at all.
void write_sweep_files(const std::filesystem::path& folder, const MergedSweep& merged);

// The whole of it, in the folder that the configuration names.
struct SweepResult {
  SweepOutcome outcome = {};
  MergedSweep merged = {};
};
SweepResult run_sweep(const SweepConfig& config, const SweepOptions& options = {},
                      Progress* progress = nullptr);

}  // namespace assay
