#include "report/multi_seed_columns.h"

#include <algorithm>

namespace assay::report {

namespace {

bool is_version_of(const SeedAggregate& aggregate, const SweepRow& row) {
  return aggregate.pruning_level == row.pruning_level && aggregate.precision == row.precision &&
         aggregate.batch_size == row.batch_size && aggregate.threads == row.threads &&
         aggregate.machine == row.machine.fingerprint;
}

std::size_t times_recommended(const SeedAggregate& aggregate, const std::vector<SweepRun>& runs) {
  return static_cast<std::size_t>(std::ranges::count_if(runs, [&](const SweepRun& run) {
    const auto& recommended = run.decision.recommended;
    return recommended && is_version_of(aggregate, run.rows.at(*recommended));
  }));
}

}  // namespace

std::vector<SeedVersion> seed_versions(const std::vector<SweepRun>& runs) {
  std::vector<SweepRow> rows;
  for (const SweepRun& run : runs) rows.insert(rows.end(), run.rows.begin(), run.rows.end());
  std::vector<SeedVersion> versions;
  for (SeedAggregate& aggregate : aggregate_seeds(rows)) {
    const std::size_t recommended = times_recommended(aggregate, runs);
    versions.push_back({std::move(aggregate), recommended});
  }
  return versions;
}

const Spread* find_spread(const SeedAggregate& aggregate, const std::string& figure) {
  const auto found =
      std::ranges::find(aggregate.figures, figure, [](const auto& one) { return one.first; });
  return found == aggregate.figures.end() ? nullptr : &found->second;
}

NamedFigures seed_version_figures(const SeedVersion& version) {
  const SeedAggregate& aggregate = version.aggregate;
  return {{"pruning_level", aggregate.pruning_level},
          {"precision", aggregate.precision},
          {"batch_size", aggregate.batch_size},
          {"threads", aggregate.threads},
          {"machine", aggregate.machine},
          {"runs", aggregate.runs},
          {"failed", aggregate.failed},
          {"accepted", aggregate.accepted},
          {"recommended", version.recommended}};
}

NamedFigures spread_figures(const Spread* spread) {
  const auto figure = [&](double Spread::*member, std::size_t least) {
    return spread != nullptr && spread->count >= least ? Json(spread->*member) : Json(nullptr);
  };
  return {{"mean", figure(&Spread::mean, 1)},         {"std", figure(&Spread::std, 2)},
          {"min", figure(&Spread::min, 1)},           {"max", figure(&Spread::max, 1)},
          {"ci95_low", figure(&Spread::ci95_low, 2)}, {"ci95_high", figure(&Spread::ci95_high, 2)}};
}

}  // namespace assay::report
