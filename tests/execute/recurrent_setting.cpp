#include "recurrent_setting.h"

#include <algorithm>

namespace assay {

namespace {

std::int64_t directions_of(const RecurrentSetting& setting) {
  return setting.direction == "bidirectional" ? 2 : 1;
}

std::int64_t gates_of(const RecurrentSetting& setting) {
  return setting.op == "LSTM" ? 4 : setting.op == "GRU" ? 3 : 1;
}

bool is_batch_first(const RecurrentSetting& setting) {
  return std::ranges::any_of(setting.attributes,
                             [](const Attribute& one) { return one.name == "layout"; });
}

Shape state_shape(const RecurrentSetting& setting) {
  const std::int64_t directions = directions_of(setting);
  return is_batch_first(setting) ? Shape{setting.batch, directions, setting.hidden}
                                 : Shape{directions, setting.batch, setting.hidden};
}

// The shapes of the inputs that are differentiated by, and their places among the op's.
std::vector<std::pair<std::size_t, Shape>> operands_of(const RecurrentSetting& setting) {
  const std::int64_t directions = directions_of(setting);
  const std::int64_t rows = gates_of(setting) * setting.hidden;
  std::vector<std::pair<std::size_t, Shape>> operands = {
      {0, is_batch_first(setting) ? Shape{setting.batch, setting.steps, setting.features}
                                  : Shape{setting.steps, setting.batch, setting.features}},
      {1, Shape{directions, rows, setting.features}},
      {2, Shape{directions, rows, setting.hidden}}};
  if (setting.has_bias) operands.push_back({3, Shape{directions, 2 * rows}});
  if (setting.has_states) operands.push_back({5, state_shape(setting)});
  if (setting.has_states && setting.op == "LSTM") operands.push_back({6, state_shape(setting)});
  if (setting.has_peepholes) operands.push_back({7, Shape{directions, 3 * setting.hidden}});
  return operands;
}

ValueId built(const RecurrentSetting& setting, GraphBuilder& builder,
              const std::vector<ValueId>& given) {
  std::vector<ValueId> inputs(setting.op == "LSTM" ? 8 : 6);
  const auto operands = operands_of(setting);
  for (std::size_t i = 0; i < operands.size(); ++i) inputs[operands[i].first] = given[i];
  const std::vector<std::int32_t> lengths = {2, static_cast<std::int32_t>(setting.steps)};
  if (setting.has_lengths) {
    inputs[4] = builder.constant(
        "lengths", Tensor::of<std::int32_t>(DataType::Int32, {setting.batch}, lengths));
  }
  std::vector<Attribute> attributes = setting.attributes;
  attributes.push_back({"direction", setting.direction});
  attributes.push_back({"hidden_size", setting.hidden});
  const auto results =
      builder.node_with_outputs(setting.op, "op", inputs, setting.op == "LSTM" ? 3 : 2, attributes);
  std::vector<ValueId> flat;
  for (const std::size_t i : setting.results) {
    if (i < results.size())
      flat.push_back(builder.node("Reshape", "flat", {results[i], builder.ints("all", {-1})}));
  }
  return builder.node("Concat", "joined", flat, {{"axis", std::int64_t{0}}});
}

}  // namespace

GradientCase recurrent_case(const RecurrentSetting& setting) {
  GradientCase one{.name = setting.op + " " + setting.direction};
  for (const auto& [place, shape] : operands_of(setting)) one.inputs.push_back(shape);
  one.build = [setting](GraphBuilder& builder, const std::vector<ValueId>& given) {
    return built(setting, builder, given);
  };
  return one;
}

}  // namespace assay
