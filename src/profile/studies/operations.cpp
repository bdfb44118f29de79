// Which kinds of operation use the machine well, and what to work on.
#include <algorithm>

#include "assay/study.h"
#include "base/fail.h"
#include "base/text.h"
#include "profile/studies/operation_graphs.h"
#include "profile/studies/rounds.h"

namespace assay {

using namespace assay::profile;

namespace {

// Below this share of a linear speed-up, threads are what an operation lacks most.
constexpr double kScalesWell = 0.6;
// From here on an operation is near its ceiling: threads cannot add much.
constexpr double kNearCeiling = 60;
constexpr std::int64_t kLargestOperation = 8192;

void check_operations(const OperationOptions& options) {
  if (options.sizes.empty()) fail_usage("`sizes` is empty");
  for (const std::int64_t size : options.sizes) {
    for (const OperationKind& kind : operation_kinds()) {
      if (size >= kind.smallest && size <= kLargestOperation) continue;
      fail_usage("size {}: expected {} to {}", size, kind.smallest, kLargestOperation);
    }
  }
}

std::vector<StudySetting> operation_settings(const OperationOptions& options, int threads) {
  std::vector<StudySetting> settings;
  for (const OperationKind& kind : operation_kinds()) {
    for (const std::int64_t size : options.sizes) {
      RunOptions run = study_run({}, options.measuring);
      run.program.cpu.threads = threads;
      settings.push_back(
          {fmt::format("{} {}", kind.name, size), kind.name, kind.build(size), std::move(run)});
    }
  }
  return settings;
}

// Of what the machine allows; work that an algorithm saves counts as done.
std::optional<double> reached(const OperationRow& row) {
  if (!row.percent_of_ceiling) return {};
  return std::min(100.0, std::max(*row.percent_of_ceiling, row.percent_of_peak.value_or(0)));
}

OperationRow operation_row(const Profile& profile, const Profile* on_one_thread,
                           const std::string& operation, std::int64_t size) {
  OperationRow row;
  row.operation = operation;
  row.size = size;
  row.latency_ms = profile.run_ms();
  row.flops = profile.totals.flops;
  row.gflops_per_second = profile.gflops_per_second;
  row.percent_of_ceiling = profile.percent_of_ceiling;
  if (profile.peak_gflops) {
    row.percent_of_peak = 100 * row.gflops_per_second / *profile.peak_gflops;
  }
  OperationJudgement judgement{main_bound(profile), reached(row), {}};
  if (on_one_thread != nullptr && row.latency_ms > 0) {
    row.speedup = on_one_thread->run_ms() / row.latency_ms;
    judgement.parallel_efficiency = *row.speedup / profile.program.cpu.threads;
  }
  row.efficiency_class = efficiency_class(judgement);
  row.optimization_focus = optimization_focus(judgement);
  return row;
}

std::vector<OperationRow> largest_of_each(const OperationEfficiency& study) {
  std::vector<OperationRow> largest;
  for (const OperationRow& row : study.rows) {
    const auto found = std::ranges::find(largest, row.operation, &OperationRow::operation);
    if (found == largest.end()) {
      largest.push_back(row);
    } else if (row.size > found->size) {
      *found = row;
    }
  }
  return largest;
}

std::vector<std::string> names_of(const std::vector<OperationRow>& rows) {
  std::vector<std::string> names;
  for (const OperationRow& row : rows) names.push_back(row.operation);
  return names;
}

void set_order(OperationEfficiency& study) {
  std::vector<OperationRow> rows = largest_of_each(study);
  std::ranges::stable_sort(rows, std::greater<>{}, &OperationRow::gflops_per_second);
  study.order = names_of(rows);
  study.most_efficient = study.order.front();
  study.least_efficient = study.order.back();
  std::ranges::stable_sort(rows, {},
                           [](const OperationRow& row) { return reached(row).value_or(100); });
  study.priority = names_of(rows);
}

OperationRow largest_row(const OperationEfficiency& study, const std::string& operation) {
  const std::vector<OperationRow> rows = largest_of_each(study);
  return *std::ranges::find(rows, operation, &OperationRow::operation);
}

std::string focus_reason(const OperationRow& row) {
  if (row.optimization_focus == "parallelization") {
    return row.efficiency_class == "overhead_bound"
               ? "starting it takes most of its time: give each call more work"
           : row.speedup
               ? fmt::format("all threads make it only {:.2f} times as fast", *row.speedup)
               : "its time goes to starting work";
  }
  return row.optimization_focus == "data_locality"
             ? "bytes limit it: fuse it with its neighbours, or use a lower precision"
             : "arithmetic limits it: fewer operations, or a precision with a higher peak";
}

}  // namespace

std::string efficiency_class(const OperationJudgement& judgement) {
  return judgement.bound ? std::string(name(*judgement.bound)) + "_bound" : "unknown";
}

std::string optimization_focus(const OperationJudgement& judgement) {
  if (!judgement.bound || *judgement.bound == Bound::Overhead) return "parallelization";
  const bool is_near_ceiling = judgement.percent_of_ceiling.value_or(0) >= kNearCeiling;
  const bool scales_well = judgement.parallel_efficiency.value_or(1) >= kScalesWell;
  if (!is_near_ceiling && !scales_well) return "parallelization";
  return *judgement.bound == Bound::Memory ? "data_locality" : "algorithms";
}

std::vector<std::string> operations_verdict(const OperationEfficiency& study) {
  const OperationRow most = largest_row(study, study.most_efficient);
  const OperationRow least = largest_row(study, study.least_efficient);
  const OperationRow first = largest_row(study, study.priority.front());
  std::vector<std::string> sentences = {
      fmt::format("At size {}, {} is the most efficient ({} GFLOP/s), {} the least ({} GFLOP/s): "
                  "a factor of {:.3g}.",
                  with_thousands(most.size), most.operation, rate_text(most.gflops_per_second),
                  least.operation, rate_text(least.gflops_per_second),
                  most.gflops_per_second / std::max(1e-12, least.gflops_per_second)),
      "By GFLOP/s: " + join(study.order, ", ") + "."};
  if (!reached(first)) return sentences;
  sentences.push_back(fmt::format(
      "Work on {} first: at {:.0f} % of its ceiling it is the farthest from what this machine "
      "allows. Focus: {}, because {}.",
      first.operation, *reached(first), first.optimization_focus, focus_reason(first)));
  return sentences;
}

OperationEfficiency benchmark_operation_efficiency(const OperationOptions& options,
                                                   Progress* progress) {
  check_operations(options);
  const int all = options.measuring.program.cpu.threads > 0
                      ? options.measuring.program.cpu.threads
                      : static_cast<int>(read_topology().usable.size());
  std::vector<StudySetting> settings = operation_settings(options, all);
  const std::size_t count = settings.size();
  if (all > 1) {
    for (StudySetting& setting : operation_settings(options, 1)) {
      settings.push_back(std::move(setting));
    }
  }
  StudiedProfiles studied = profile_in_rounds(settings, options.measuring, progress);
  OperationEfficiency study;
  set_facts(studied.profiles.front(), study);
  study.model.reset();
  study.warnings = std::move(studied.warnings);
  std::size_t at = 0;
  for (const OperationKind& kind : operation_kinds()) {
    for (const std::int64_t size : options.sizes) {
      const Profile* single = all > 1 ? &studied.profiles[count + at] : nullptr;
      study.rows.push_back(operation_row(studied.profiles[at++], single, kind.name, size));
    }
  }
  set_order(study);
  study.verdict = operations_verdict(study);
  return study;
}

}  // namespace assay
