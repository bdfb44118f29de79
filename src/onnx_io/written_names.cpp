#include "onnx_io/written_names.h"

#include "base/fail.h"

namespace assay::onnx {

WrittenNames::WrittenNames(const Graph& graph, const WrittenNames* around)
    : around_(around), names_(graph.value_count()) {
  taken_.reserve(graph.value_count());
  if (around_ != nullptr) take_captured(graph);
  take_own(graph);
}

bool WrittenNames::is_visible(std::string_view name) const {
  const std::string wanted(name);
  for (const auto* here = this; here != nullptr; here = here->around_) {
    if (here->taken_.contains(wanted)) return true;
  }
  return false;
}

void WrittenNames::take_captured(const Graph& graph) {
  for (const auto& capture : graph.captures()) {
    names_[capture.inner.number] = around_->of(capture.outer);
  }
}

// First every value that may keep its name, so that a new one avoids them all.
void WrittenNames::take_own(const Graph& graph) {
  std::vector<std::uint32_t> hiding;
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const std::string& own = graph.value(ValueId{i}).name;
    if (!names_[i].empty()) continue;
    if (is_visible(own)) {
      hiding.push_back(i);
      continue;
    }
    names_[i] = own;
    taken_.insert(own);
  }
  for (const std::uint32_t i : hiding) {
    const std::string& own = graph.value(ValueId{i}).name;
    while (names_[i].empty()) {
      const std::string candidate = fmt::format("{}_{}", own, ++last_suffix_[own]);
      if (is_visible(candidate)) continue;
      names_[i] = candidate;
      taken_.insert(candidate);
    }
  }
}

}  // namespace assay::onnx
