#include <fmt/core.h>

#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"
#include "report/train_parts.h"

namespace assay {

using namespace assay::report;

namespace {

// Wider matrices are only in the JSON.
constexpr std::size_t kMostClassesShown = 12;

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

// Four decimals, or fewer if they mean nothing.
std::string loss_text(double loss) {
  return loss < 1e4 ? fmt::format("{:.4f}", loss) : fmt::format("{:.3g}", loss);
}

std::string data_text(const TrainedOn& data, bool was_trained) {
  std::vector<std::string> parts;
  if (was_trained) parts.push_back(with_thousands(data.train_size) + " samples to train");
  if (data.val_size > 0) parts.push_back(with_thousands(data.val_size) + " samples to validate");
  return data.name + ": " + join(parts, ", ");
}

std::string train_setting_text(const TrainReport& report) {
  const TrainOptions& options = report.options;
  const bool falls = options.schedule == Schedule::Cosine;
  return fmt::format("{}, batch {}, rate {:g}{}, {}, seed {}, {}", name(options.optimizer.kind),
                     options.batch_size, options.learning_rate, falls ? " falling" : "",
                     name(options.loss), options.seed, team_text(report.result.threads));
}

std::string epochs_table(const std::vector<EpochResult>& epochs, const Layout& layout) {
  TextTable table({{.title = "epoch", .is_number = true},
                   {.title = "loss", .is_number = true},
                   {.title = "accuracy", .is_number = true},
                   {.title = "val loss", .is_number = true},
                   {.title = "val acc.", .is_number = true},
                   {.title = "95 % interval", .is_number = true},
                   {.title = "samples/s", .is_number = true},
                   {.title = "time", .is_number = true}});
  for (const EpochResult& epoch : epochs) {
    const auto& judged = epoch.validation_accuracy;
    table.add_row(
        {with_thousands(epoch.epoch), loss_text(epoch.loss), percent(epoch.accuracy),
         epoch.validation_loss ? loss_text(*epoch.validation_loss) : "-",
         judged ? percent(judged->value) : "-",
         judged ? fmt::format("{:.2f} to {:.2f}", 100 * judged->ci95_low, 100 * judged->ci95_high)
                : "-",
         rate_text(epoch.samples_per_second), duration_text(epoch.seconds * 1000)});
  }
  return table.render(layout);
}

std::string accuracy_text(const TrainReport& report) {
  const auto& [accuracy, loss] = final_judgement(report);
  if (!accuracy) return "";
  std::string text =
      fmt::format("{}   95 % interval {:.2f} to {:.2f} %, {} of {} right", percent(accuracy->value),
                  100 * accuracy->ci95_low, 100 * accuracy->ci95_high,
                  with_thousands(accuracy->correct), with_thousands(accuracy->total));
  if (loss) text += "; loss " + loss_text(*loss);
  const auto last = static_cast<std::int64_t>(report.result.epochs.size());
  if (report.result.model_epoch == last) return text;
  return text + fmt::format("; the weights of epoch {}", report.result.model_epoch);
}

std::string time_text(const TrainResult& result) {
  std::string text = duration_text(result.seconds * 1000);
  if (result.resumed_after > 0) {
    text += fmt::format(", resumed after epoch {}", result.resumed_after);
  }
  if (result.stopped_early) text += ", stopped early: the validation loss no longer fell";
  return text;
}

std::string memory_text(const ProgramMemory& memory) {
  if (memory.arena_bytes == 0) return "";
  return fmt::format("{} for a step: weights, gradients, the optimizer's state and activations",
                     binary_text(memory.arena_bytes + memory.weight_bytes));
}

std::string confusion_table(const std::vector<std::vector<std::int64_t>>& confusion,
                            const Layout& layout) {
  if (confusion.empty()) return "";
  if (confusion.front().size() > kMostClassesShown) {
    return wrapped("\nThe confusion matrix is too wide for this table; the JSON has it.");
  }
  std::vector<TextColumn> columns = {{.title = "class", .is_number = true}};
  for (std::size_t i = 0; i < confusion.front().size(); ++i) {
    columns.push_back({.title = fmt::format("as {}", i), .is_number = true});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < confusion.size(); ++i) {
    std::vector<std::string> cells = {fmt::format("{}", i)};
    for (const std::int64_t count : confusion[i]) {
      cells.push_back(count == 0 ? "-" : fmt::format("{}", count));
    }
    table.add_row(cells);
  }
  return "\n" + table.render(layout);
}

}  // namespace

std::string train_table(const TrainReport& report, const Layout& layout) {
  const TrainResult& result = report.result;
  const bool was_trained = !result.epochs.empty();
  std::string text = headline(report.model) + "\n";
  text += labelled("data", data_text(report.dataset, was_trained));
  if (was_trained) text += labelled("setting", train_setting_text(report)) + "\n";
  if (was_trained) text += epochs_table(result.epochs, layout) + "\n";
  text += labelled("accuracy", accuracy_text(report));
  if (was_trained) text += labelled("time", time_text(result));
  text += labelled("memory", memory_text(result.memory));
  if (report.evaluation) text += confusion_table(report.evaluation->confusion, layout);
  if (!report.file.empty()) text += "\nwrote " + without_control_characters(report.file) + "\n";
  return text;
}

}  // namespace assay
