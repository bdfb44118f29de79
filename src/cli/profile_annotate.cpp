#include "cli/profile_annotate.h"

#include <fmt/core.h>

#include <filesystem>

#include "assay/onnx.h"
#include "base/fail.h"
#include "cli/console.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

std::string decimals(double value) {
  return fmt::format("{:.6g}", value);
}

std::vector<MetadataEntry> entries_of(const ProfileLayer& layer) {
  std::vector<MetadataEntry> entries;
  if (layer.time_ms) {
    entries.emplace_back("assay.time_ms", decimals(*layer.time_ms));
    entries.emplace_back("assay.share", decimals(layer.share));
  }
  if (!layer.fused_into.empty()) entries.emplace_back("assay.fused_into", layer.fused_into);
  if (layer.cost.answer == Answer::Unknown) return entries;
  entries.emplace_back("assay.macs", std::to_string(layer.cost.macs));
  entries.emplace_back("assay.flops", std::to_string(layer.cost.flops));
  entries.emplace_back("assay.parameters", std::to_string(layer.cost.parameters));
  entries.emplace_back("assay.bytes_read", std::to_string(layer.cost.bytes_read));
  entries.emplace_back("assay.bytes_written", std::to_string(layer.cost.bytes_written));
  if (layer.rates.bound) entries.emplace_back("assay.bound", name(*layer.rates.bound));
  return entries;
}

ModelAnnotations annotations_of(const Profile& profile) {
  ModelAnnotations annotations;
  annotations.model = {{"assay.latency_ms", decimals(profile.run_ms())},
                       {"assay.batch", std::to_string(profile.batch)},
                       {"assay.threads", std::to_string(profile.program.cpu.threads)},
                       {"assay.engine", profile.program.engine},
                       {"assay.macs", std::to_string(profile.totals.macs)},
                       {"assay.flops", std::to_string(profile.totals.flops)},
                       {"assay.parameters", std::to_string(profile.totals.parameters)},
                       {"assay.bytes_read", std::to_string(profile.totals.bytes_read)},
                       {"assay.bytes_written", std::to_string(profile.totals.bytes_written)}};
  for (const ProfileLayer& layer : profile.layers) {
    if (layer.cost.node.is_valid()) annotations.nodes[layer.cost.name].push_back(entries_of(layer));
  }
  return annotations;
}

}  // namespace

void check_can_be_annotated(const std::string& model, const std::string& copy) {
  if (copy.empty()) return;
  if (is_zoo_name(model)) {
    fail_usage("--annotate copies a file, and {} is none: 'assay zoo export' writes one", model);
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(model, copy, ignored)) {
    fail_usage("--annotate {}: is the model itself; choose another name", copy);
  }
}

void write_annotated(const Profile& profile, const std::string& model, const std::string& copy,
                     bool quiet) {
  if (copy.empty()) return;
  const ModelAnnotations annotations = annotations_of(profile);
  std::size_t known = 0;
  for (const auto& [name, list] : annotations.nodes) known += list.size();
  const std::size_t written = annotate_onnx(model, copy, annotations);
  if (written < known) {
    print_note(fmt::format("{}: {} of {} nodes have metadata; the others are not nodes of the "
                           "file's main graph, but inside functions or bodies",
                           copy, written, known),
               quiet);
  }
}

}  // namespace assay::cli
