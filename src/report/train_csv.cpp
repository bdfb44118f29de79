#include <fmt/core.h>

#include <vector>

#include "report/csv.h"
#include "report/train_parts.h"

namespace assay {

using namespace assay::report;

std::string train_csv(const TrainReport& report) {
  std::vector<std::string> header = {"epoch"};
  for (const auto& [key, value] : epoch_figures({})) header.emplace_back(key);
  std::string text = csv_line(header);
  for (const EpochResult& epoch : report.result.epochs) {
    std::vector<std::string> cells = {fmt::format("{}", epoch.epoch)};
    for (const auto& [key, value] : epoch_figures(epoch)) cells.push_back(csv_number(value));
    text += csv_line(cells);
  }
  return text;
}

}  // namespace assay
