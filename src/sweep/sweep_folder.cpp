#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "assay/infer.h"
#include "assay/onnx.h"
#include "assay/precision.h"
#include "assay/sweep.h"
#include "assay/sweep_report.h"
#include "base/atomic_file.h"

namespace assay {

namespace {

// Of files whose names depend on the results, those that an earlier state had and this one has not.
void remove_outdated(const std::filesystem::path& folder, const std::set<std::string>& current) {
  std::error_code none;
  std::vector<std::filesystem::path> outdated;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string file = entry.path().filename().string();
    const bool is_ours = file == "sweep_errors.csv" || file == "recommended.onnx" ||
                         (file.starts_with("quantization_metadata_p") && file.ends_with(".json"));
    if (is_ours && !current.contains(file)) outdated.push_back(entry.path());
  }
  for (const auto& path : outdated) std::filesystem::remove(path, none);
}

// The version as a file of its own: 16-bit versions are stored in 16 bits.
void write_recommended(const SweepRun& run, const std::filesystem::path& sweep_folder,
                       const std::filesystem::path& target) {
  const SweepRow& row = run.rows[*run.decision.recommended];
  const Graph model = infer_shapes(read_onnx(sweep_folder / row.model_file)).graph;
  const bool is_cast = row.precision == "fp16" || row.precision == "bf16";
  write_onnx(is_cast ? cast_precision(model, float_precision(row.precision)).graph : model, target);
}

void write_run(const SweepRun& run, const std::filesystem::path& sweep_folder,
               const std::filesystem::path& target) {
  make_folder(target);
  std::set<std::string> current;
  for (const auto& [file, content] : sweep_files(run)) {
    write_file(target / file, content);
    current.insert(file);
  }
  if (!run.recommended_file.empty()) {
    write_recommended(run, sweep_folder, target / run.recommended_file);
    current.insert(run.recommended_file);
  }
  remove_outdated(target, current);
}

std::string machine_folder(const SweepRun& run) {
  constexpr std::size_t kDigits = 12;
  const std::string fingerprint =
      run.rows.empty() ? "unknown" : run.rows.front().machine.fingerprint;
  return "machines/" + fingerprint.substr(0, kDigits);
}

// Runs of one machine: alone at the top, or a folder for each seed and statistics over them.
void write_machine(const std::vector<SweepRun>& runs, const std::filesystem::path& sweep_folder,
                   const std::filesystem::path& target) {
  if (runs.size() == 1) return write_run(runs.front(), sweep_folder, target);
  for (const SweepRun& run : runs) {
    write_run(run, sweep_folder, target / fmt::format("seed_{}", run.seed));
  }
  write_file(target / "summary_multi_seed.json", multi_seed_json(runs));
  write_file(target / "summary_multi_seed.csv", multi_seed_csv(runs));
}

std::string fingerprint_of(const SweepRun& run) {
  return run.rows.empty() ? "" : run.rows.front().machine.fingerprint;
}

std::vector<std::vector<SweepRun>> by_machine(const std::vector<SweepRun>& runs) {
  std::vector<std::vector<SweepRun>> machines;
  for (const SweepRun& run : runs) {
    if (machines.empty() || fingerprint_of(machines.back().front()) != fingerprint_of(run)) {
      machines.emplace_back();
    }
    machines.back().push_back(run);
  }
  return machines;
}

}  // namespace

void write_sweep_files(const std::filesystem::path& folder, const MergedSweep& merged) {
  if (merged.runs.empty()) return;
  const auto machines = by_machine(merged.runs);
  write_machine(machines.front(), folder, folder);
  for (std::size_t i = 1; i < machines.size(); ++i) {
    write_machine(machines[i], folder, folder / machine_folder(machines[i].front()));
  }
  if (merged.runs.size() == 1) return;
  std::vector<SweepRow> rows;
  for (const SweepRun& run : merged.runs) rows.insert(rows.end(), run.rows.begin(), run.rows.end());
  write_file(folder / "sweep_results.csv", sweep_results_csv(rows, merged.runs.front().config));
}

}  // namespace assay
