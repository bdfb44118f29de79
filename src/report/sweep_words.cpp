#include "report/sweep_words.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "report/sweep_parts.h"

namespace assay::report {

namespace {

template <typename Member>
bool has_several(const std::vector<SweepRow>& rows, Member SweepRow::*member) {
  return std::ranges::any_of(
      rows, [&](const SweepRow& row) { return row.*member != rows.front().*member; });
}

}  // namespace

std::string rejection_word(Rejection kind) {
  switch (kind) {
    case Rejection::Failed:
      return "failed";
    case Rejection::OverMemory:
      return "too large";
    case Rejection::OverLatency:
      return "too slow";
    case Rejection::LessAccurate:
      return "too lossy";
    case Rejection::Slower:
      return "slower";
  }
  return "";
}

VaryingSettings varying_settings(const std::vector<SweepRow>& rows) {
  return {has_several(rows, &SweepRow::batch_size), has_several(rows, &SweepRow::threads)};
}

std::string plural_of(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string swept_text(const SweepRun& run) {
  std::vector<std::string> parts = {fmt::format("{} on {}", run.config.model, run.config.dataset)};
  if (!run.rows.empty()) {
    const SweepRow& row = run.rows.front();
    const VaryingSettings varying = varying_settings(run.rows);
    if (!varying.batch_size) parts.push_back(fmt::format("batch {}", row.batch_size));
    if (!varying.threads && row.threads > 0) {
      parts.push_back(plural_of(static_cast<std::size_t>(row.threads), "thread"));
    }
    if (!row.machine.processor.empty()) parts.push_back(row.machine.processor);
  }
  parts.push_back(fmt::format("seed {}", run.seed));
  return join(parts, ", ");
}

std::vector<std::string> outcomes_of(const SweepRun& run) {
  std::vector<std::string> outcomes(run.rows.size());
  for (const RejectedRow& rejected : run.decision.rejected) {
    outcomes.at(rejected.row) = rejection_word(rejected.kind);
  }
  if (run.decision.recommended) outcomes.at(*run.decision.recommended) = "recommended";
  return outcomes;
}

}  // namespace assay::report
