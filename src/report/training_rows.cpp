#include "report/training_rows.h"

#include <algorithm>

namespace assay::report {

namespace {

void add_to(LayerPhase& sum, const LayerPhase& part) {
  sum.flops += part.flops;
  if (part.time_ms) sum.time_ms = sum.time_ms.value_or(0) + *part.time_ms;
}

void add_to(TrainingLayer& sum, const TrainingLayer& layer) {
  sum.parameters += layer.parameters;
  sum.share += layer.share;
  add_to(sum.forward, layer.forward);
  add_to(sum.backward, layer.backward);
  add_to(sum.update, layer.update);
}

}  // namespace

double time_of(const TrainingLayer& layer) {
  return layer.forward.time_ms.value_or(0) + layer.backward.time_ms.value_or(0) +
         layer.update.time_ms.value_or(0);
}

std::string words_of(MemoryUse use) {
  if (use == MemoryUse::Workspace) return "workspace";
  std::string words(name(use));
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::vector<TrainingLayer> training_rows(const TrainingProfile& profile, std::size_t top,
                                         TrainingLayer* hidden) {
  std::vector<TrainingLayer> rows;
  for (const TrainingLayer& layer : profile.layers) {
    if (time_of(layer) > 0 || layer.forward.flops > 0) rows.push_back(layer);
  }
  std::ranges::stable_sort(rows, std::greater<>{}, time_of);
  if (top == 0 || rows.size() <= top) return rows;
  for (std::size_t i = top; hidden != nullptr && i < rows.size(); ++i) add_to(*hidden, rows[i]);
  if (hidden != nullptr) hidden->name = std::to_string(rows.size() - top) + " more";
  rows.resize(top);
  return rows;
}

}  // namespace assay::report
