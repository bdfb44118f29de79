#include "report/headline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "report/figures.h"
#include "report/text_table.h"

namespace assay::report {

namespace {

constexpr std::size_t kLabelWidth = 13;

// A number and its unit stay together.
bool is_unit(std::string_view word) {
  constexpr std::array<std::string_view, 10> kUnits = {"s",   "ms",  "µs", "B",       "KiB",
                                                       "MiB", "GiB", "%",  "GFLOP/s", "GB/s"};
  while (!word.empty() && (word.back() == ',' || word.back() == ';')) word.remove_suffix(1);
  return std::ranges::find(kUnits, word) != kUnits.end();
}

// Words with the units that follow them.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  for (const auto& word : split(text, ' ')) {
    if (is_unit(word) && !pieces.empty()) {
      pieces.back() += " " + word;
    } else {
      pieces.push_back(word);
    }
  }
  return pieces;
}

std::string model_line(const ModelSummary& model) {
  const std::string opset = fmt::format("  opset {}", model.opset);
  const std::string name = without_control_characters(model.name);
  return shortened(name, kTableWidth - opset.size()) + opset + "\n";
}

std::string input_text(const Value& input) {
  return without_control_characters(fmt::format("{} {}", input.name, input.type.to_string()));
}

}  // namespace

std::string headline(const ModelSummary& model) {
  std::string text = model_line(model);
  if (model.sha256) text += "sha256 " + *model.sha256 + "\n";
  for (const Value& input : model.inputs) {
    const std::string type = "  " + without_control_characters(input.type.to_string());
    const std::size_t name_width =
        kTableWidth - 7 - std::min(kTableWidth - 17, display_width(type));
    text += "input  " + shortened(without_control_characters(input.name), name_width) + type + "\n";
  }
  return text;
}

std::string short_headline(const ModelSummary& model) {
  if (model.inputs.size() < 2) return headline(model);
  std::string line = "inputs";
  std::size_t shown = 0;
  for (const Value& input : model.inputs) {
    constexpr std::size_t kRoomForMore = 14;  // " and 100 more"
    const std::string next = (shown == 0 ? " " : ", ") + input_text(input);
    if (display_width(line + next) + kRoomForMore > kTableWidth) break;
    line += next;
    ++shown;
  }
  const std::size_t left = model.inputs.size() - shown;
  return model_line(model) + line + (left > 0 ? fmt::format(" and {} more", left) : "") + "\n";
}

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  std::string line;
  for (const auto& word : pieces_of(text)) {
    const std::size_t needed = display_width(line) + 1 + display_width(word);
    if (!line.empty() && indent + needed > kTableWidth) {
      lines += std::exchange(line, "") + "\n" + std::string(indent, ' ');
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string labelled(std::string_view label, std::string_view text) {
  if (text.empty()) return "";
  return fmt::format("{:<{}}", label, kLabelWidth) +
         wrapped(without_control_characters(text), kLabelWidth);
}

}  // namespace assay::report
