#include "cli/flags.h"

#include <array>
#include <string_view>

namespace assay::cli {

namespace {

struct Translation {
  std::string_view in_library;
  std::string_view on_command_line;
};

constexpr std::array<Translation, 33> kTranslations = {{
    {"`accumulate`", "--accumulate"},
    {"`batch`", "--batch"},
    {"`batches`", "--batch"},
    {"`calibration`", "--calibrate"},
    {"`columns`", "--columns"},
    {"`dims`", "--dim"},
    {"`engine`", "--engine"},
    {"`explain`", "--explain"},
    {"`fail_if`", "--fail-if"},
    {"`input_shapes`", "--input"},
    {"`low_rank`", "--low-rank"},
    {"`max_loss`", "--max-loss"},
    {"`max_mb`", "--max-mb"},
    {"`max_ms`", "--max-ms"},
    {"`max_watts`", "--max-watts"},
    {"`optimize_for`", "--optimize-for"},
    {"`precision`", "--precision"},
    {"`prune`", "--prune"},
    {"`rounds`", "--rounds"},
    {"`sizes`", "--sizes"},
    {"`sort`", "--sort"},
    {"`target_mb`", "--target-mb"},
    {"`target_ms`", "--target-ms"},
    {"`threads`", "--threads"},
    {"`tokens`", "--tokens"},
    {"`top`", "--top N"},
    {"`training`", "--dataset"},
    {"`tuning_file`", "--tuning"},
    {"`values`", "--values"},
    {"measure it, or call `calibrate` once", "use --measured, or run 'assay fit --validate' once"},
    {"call `measure_machine` again", "run 'assay machine --refresh'"},
    {"set `recalibrate`", "run 'assay fit --recalibrate'"},
    {"`built_in_devices` lists them", "'assay devices' lists them"},
}};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string with_flags(std::string text) {
  for (const auto& [in_library, on_command_line] : kTranslations) {
    replace_all(text, in_library, on_command_line);
  }
  return text;
}

void use_flags(std::vector<std::string>& texts) {
  for (std::string& text : texts) text = with_flags(std::move(text));
}

void use_flags(std::vector<Advice>& advice) {
  for (Advice& one : advice) {
    one.reason = with_flags(std::move(one.reason));
    one.action = with_flags(std::move(one.action));
  }
}

}  // namespace assay::cli
