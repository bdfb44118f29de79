#include "execute/cpu/question.h"

#include <fmt/core.h>

#include <span>

#include "base/sha256.h"

namespace assay::cpu {

std::string question_about(const Inferred& model, std::optional<DataType> precision) {
  std::string text;
  for (const Node& node : model.graph.nodes()) {
    text += node.op;
    for (const ValueId output : node.outputs) {
      if (output.is_valid()) text += ' ' + model.graph.value(output).type.to_string();
    }
    text += '\n';
  }
  const std::string digest = sha256_of({std::as_bytes(std::span(text))});
  return fmt::format("{} in model {}", name(precision.value_or(DataType::Undefined)), digest);
}

}  // namespace assay::cpu
