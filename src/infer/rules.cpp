#include "infer/rules.h"

namespace assay::infer {

namespace {

RuleTable standard_rules() {
  RuleTable table;
  add_elementwise_rules(table);
  add_convolution_rules(table);
  add_pooling_rules(table);
  add_matmul_rules(table);
  add_einsum_rules(table);
  add_normalization_rules(table);
  add_reduction_rules(table);
  add_view_rules(table);
  add_slicing_rules(table);
  add_gather_rules(table);
  add_selection_rules(table);
  add_creation_rules(table);
  add_recurrent_rules(table);
  add_signal_rules(table);
  add_image_rules(table);
  add_quantization_rules(table);
  add_loss_rules(table);
  add_sequence_rules(table);
  add_text_rules(table);
  return table;
}

template <void (*add)(RuleTable&)>
RuleTable table_of() {
  RuleTable table;
  add(table);
  return table;
}

const RuleTable* table_of_domain(std::string_view domain) {
  static const RuleTable standard = standard_rules();
  static const RuleTable own = table_of<add_gradient_rules>();
  static const RuleTable ml = table_of<add_ml_rules>();
  static const RuleTable training = table_of<add_training_rules>();
  static const RuleTable microsoft = table_of<add_microsoft_rules>();
  if (domain.empty() || domain == "ai.onnx") return &standard;
  if (domain == kOwnDomain) return &own;
  if (domain == "ai.onnx.ml") return &ml;
  if (domain == "ai.onnx.preview.training") return &training;
  if (domain == "com.microsoft") return &microsoft;
  return nullptr;
}

}  // namespace

Rule find_rule(const Node& node) {
  const RuleTable* table = table_of_domain(node.domain);
  if (table == nullptr) return nullptr;
  const auto found = table->find(node.op);
  return found == table->end() ? nullptr : found->second;
}

std::vector<std::string_view> ops_with_rules(std::string_view domain) {
  std::vector<std::string_view> ops;
  const RuleTable* table = table_of_domain(domain);
  if (table == nullptr) return ops;
  for (const auto& [op, rule] : *table) ops.push_back(op);
  return ops;
}

}  // namespace assay::infer
