#include "cli/profile_training.h"

#include "assay/stored_machine.h"
#include "assay/training_profile_report.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "cli/flags.h"
#include "cli/folder.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"
#include "cli/origin.h"
#include "cli/page.h"
#include "cli/profile_gate.h"

namespace assay::cli {

namespace {

std::optional<std::int64_t> bytes_from(const char* flag, const std::string& megabytes) {
  if (megabytes.empty()) return {};
  return static_cast<std::int64_t>(parse_decimal(flag, megabytes, 1e-6) * kMegabyte);
}

TrainingStepOptions step_options(const TrainingArguments& arguments) {
  TrainingStepOptions options;
  if (!arguments.optimizer.empty()) {
    options.optimizer.kind = optimizer_named(arguments.optimizer);
  }
  if (!arguments.loss.empty()) options.loss = loss_named(arguments.loss);
  if (!arguments.accumulate.empty()) {
    options.accumulate = parse_count("--accumulate", arguments.accumulate, 1);
  }
  if (!arguments.recompute.empty()) {
    options.pieces = static_cast<std::size_t>(parse_count("--recompute", arguments.recompute, 1));
  }
  return options;
}

// The same step with batches around the one that was measured.
std::vector<PlannedTraining> other_batches(const Graph& graph, const TrainingStepOptions& options,
                                           const Bindings& bindings) {
  std::vector<PlannedTraining> batches;
  for (const std::int64_t batch : {1, 2, 4, 8, 16, 32, 64, 128}) {
    Bindings bound = bindings;
    bound.batch = batch;
    try {
      batches.push_back(plan_training(graph, options, bound));
    } catch (const Error&) {
      return {};  // its batch cannot be changed
    }
  }
  return batches;
}

TrainingReportOptions report_options(const TrainingRequest& request,
                                     const TrainingStepOptions& step,
                                     std::optional<std::int64_t> budget_bytes) {
  const Bindings& bindings = request.profile.run.bindings;
  TrainingReportOptions report{.top = request.top,
                               .batches = other_batches(request.graph, step, bindings),
                               .budget_bytes = budget_bytes};
  if (budget_bytes) report.largest = largest_batch(request.graph, *budget_bytes, step, bindings);
  return report;
}

std::string rendered(const OutputFormat& format, const TrainingProfile& profile,
                     TrainingReportOptions options) {
  return formatted(
      format,
      [&](const Layout& layout) {
        options.layout = layout;
        return training_table(profile, options);
      },
      [&] { return training_json(profile, options); },
      [&] { return training_csv(profile, options); });
}

// Files have all rows, however many the terminal shows.
void write_files(const std::filesystem::path& folder, const TrainingProfile& profile,
                 TrainingReportOptions options) {
  options.top = {};
  write_file(folder / "profile.json", with_origin(training_json(profile, options)));
  write_file(folder / "layers.csv", training_csv(profile, options));
  write_file(folder / "memory.png", training_memory_png(profile));
  write_file(folder / "memory.svg", training_memory_svg(profile));
}

}  // namespace

void add_training_options(Command& command, TrainingArguments& arguments) {
  command.heading("Training");
  command.add_flag("--train", arguments.train,
                   "profile a step of training: forward, backward and update of every layer");
  command.add_option("--optimizer NAME", arguments.optimizer,
                     "sgd, momentum, adam or adamw; default sgd");
  command.add_option("--loss NAME", arguments.loss,
                     "sum-of-squares, cross-entropy or mean-squared-error; default "
                     "sum-of-squares, which takes any output");
  command.add_option("--accumulate N", arguments.accumulate,
                     "accumulate the gradients of N batches before the update");
  auto* recompute = command.add_option("--recompute N", arguments.recompute,
                                       "split the forward pass into N segments and recompute their "
                                       "activations in the backward pass");
  command
      .add_option("--memory-budget MB", arguments.memory_budget,
                  "recompute as little as needed to stay below N MB")
      ->excludes(recompute);
  command.add_option("--max-mb MB", arguments.max_mb,
                     "find the largest batch whose step needs at most N MB");
}

void check_is_unused(const TrainingArguments& arguments) {
  const std::pair<const char*, const std::string*> flags[] = {
      {"--optimizer", &arguments.optimizer},         {"--loss", &arguments.loss},
      {"--accumulate", &arguments.accumulate},       {"--recompute", &arguments.recompute},
      {"--memory-budget", &arguments.memory_budget}, {"--max-mb", &arguments.max_mb}};
  for (const auto& [flag, value] : flags) {
    if (!value->empty()) fail_usage("{} only applies to training: add --train", flag);
  }
}

Exit run_training_profile(TrainingRequest request, const TrainingArguments& arguments, bool quiet) {
  TrainingProfileOptions options{.profile = std::move(request.profile),
                                 .step = step_options(arguments)};
  options.step.seed = options.profile.run.seed;
  const auto budget_of_step = bytes_from("--memory-budget", arguments.memory_budget);
  const auto budget_of_batch = bytes_from("--max-mb", arguments.max_mb);
  if (!request.folder.empty()) make_folder(request.folder);
  PageFile page(request.html);
  ProgressBar progress(quiet);
  catch_interrupts();
  std::vector<std::string> machine_warnings;
  if (options.profile.judge) {
    options.profile.machine = chosen_machine_for(options.profile.run.program, progress, quiet,
                                                 kNoCeilings, machine_warnings);
  }
  TrainingReportOptions report;
  TrainingProfile profile = naming_model(request.model, [&] {
    if (budget_of_step) {
      options.step.pieces =
          pieces_to_fit(request.graph, *budget_of_step, options.step, options.profile.run.bindings);
    }
    request.profile = options.profile;
    report = report_options(request, options.step, budget_of_batch);
    return profile_training(std::move(request.graph), request.model, options, &progress);
  });
  auto& warnings = profile.step.warnings;
  warnings.insert(warnings.end(), machine_warnings.begin(), machine_warnings.end());
  use_flags(warnings);
  use_flags(profile.step.advice);
  if (!request.folder.empty()) write_files(request.folder, profile, report);
  page.write("profile.json", [&] { return training_json(profile, report); });
  print_data(rendered(request.format, profile, report));
  print_warnings(warnings, quiet);
  return exit_after(profile.step, request.strict);
}

}  // namespace assay::cli
