// Cuts a plan into shards, and tells which of them have work left.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "cli/console.h"
#include "cli/model_argument.h"
#include "cli/sweep_submit.h"

namespace assay::cli {

namespace {

constexpr const char* kShardsFile = "shards";

bool gives_result(const SweepTask& task) {
  return !task.makes_model();
}

std::size_t results_of(const SweepPlan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.tasks, gives_result));
}

std::size_t shards_by_time(const SweepPlan& plan, const ShardLimits& limits) {
  const std::vector<double> seconds = estimate_seconds(plan);
  double total = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    if (gives_result(plan.tasks[i])) total += seconds[i];
  }
  const auto wanted = static_cast<std::size_t>(std::ceil(total / limits.seconds));
  return std::max(wanted, limits.fewest);
}

std::size_t chosen_shards(const SubmitArguments& arguments, const std::filesystem::path& folder,
                          const SweepPlan& plan, const ShardLimits& limits) {
  if (!arguments.shards.empty()) {
    const auto count = static_cast<std::size_t>(parse_count("--shards", arguments.shards, 1));
    if (count > limits.most) {
      fail_usage("--shards {}: at most {} are possible here", count, limits.most);
    }
    return count;
  }
  std::size_t count = remembered_shards(folder);
  if (count == 0) count = shards_by_time(plan, limits);
  return std::clamp<std::size_t>(count, 1, std::min(limits.most, results_of(plan)));
}

// Makes the plan, unless the argument is a folder that has one.
std::filesystem::path planned_folder(const SubmitArguments& arguments, bool quiet) {
  const SweepArguments& sweep = arguments.sweep;
  if (std::filesystem::is_directory(sweep.config)) {
    if (!sweep.output.empty() || !sweep.seeds.empty()) {
      fail_usage("{} is the folder of a plan: --out and --seeds are for a configuration",
                 sweep.config);
    }
    return sweep.config;
  }
  const SweepConfig config = config_of(sweep);
  const SweepPlan plan = plan_sweep(config);
  write_plan(config.output_dir, plan);
  print_note(fmt::format("wrote a plan of {} tasks to {}", plan.tasks.size(), config.output_dir),
             quiet);
  return config.output_dir;
}

std::vector<SweepTask> tasks_left(const std::filesystem::path& folder, bool retry_errors) {
  const MergedSweep merged = merge_sweep(folder);
  std::vector<SweepTask> left = merged.missing;
  if (!retry_errors) return left;
  for (const SweepRun& run : merged.runs) {
    for (const SweepRow& row : run.rows) {
      if (!row.error.empty()) left.push_back({.id = row.task});
    }
  }
  return left;
}

void prepare_all(const std::filesystem::path& folder, bool quiet) {
  catch_interrupts();
  ProgressBar progress(quiet);
  if (prepare_models(folder, &progress).interrupted) {
    throw Error(ErrorKind::Cancelled, "interrupted; the same command goes on");
  }
}

}  // namespace

std::vector<std::size_t> shards_with(const SweepPlan& plan, const std::vector<SweepTask>& missing,
                                     std::size_t shards) {
  std::set<std::string> wanted;
  for (const SweepTask& task : missing) wanted.insert(task.id);
  std::set<std::size_t> found;
  std::size_t position = 0;
  for (const SweepTask& task : plan.tasks) {
    if (!gives_result(task)) continue;
    if (wanted.contains(task.id)) found.insert(position % shards);
    ++position;
  }
  return {found.begin(), found.end()};
}

std::size_t remembered_shards(const std::filesystem::path& folder) {
  std::size_t count = 0;
  std::ifstream(folder / kShardsFile) >> count;
  return count;
}

std::string range_text(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last;
  }
  return text;
}

Submission submission_of(const SubmitArguments& arguments, const ShardLimits& limits, bool prepares,
                         bool quiet) {
  Submission submission{.folder = std::filesystem::absolute(planned_folder(arguments, quiet))};
  submission.plan = read_plan(submission.folder);
  submission.shards = chosen_shards(arguments, submission.folder, submission.plan, limits);
  submission.left = shards_with(
      submission.plan, tasks_left(submission.folder, arguments.retry_errors), submission.shards);
  write_file(submission.folder / kShardsFile, fmt::format("{}\n", submission.shards));
  if (prepares && !submission.left.empty()) prepare_all(submission.folder, quiet);
  return submission;
}

std::filesystem::path own_path() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

std::string filled(std::string text,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values) {
    for (std::size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + value.size())) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

void write_script(const std::filesystem::path& file, const std::string& text) {
  using std::filesystem::perms;
  write_file(file, text);
  std::filesystem::permissions(file, perms::owner_exec | perms::group_exec | perms::others_exec,
                               std::filesystem::perm_options::add);
}

}  // namespace assay::cli
