#include "transform/training/accumulate.h"

#include <bit>
#include <map>

#include "base/fail.h"
#include "kernels/real.h"

namespace assay::transform {

namespace {

std::string suffix(std::int64_t part) {
  return "/part." + std::to_string(part);
}

// Each part of a batch drops other elements.
std::int64_t seed_of_part(std::int64_t seed, std::int64_t part) {
  constexpr std::uint64_t kFarApart = 0x9e3779b9;
  return std::bit_cast<std::int64_t>(std::bit_cast<std::uint64_t>(seed) +
                                     static_cast<std::uint64_t>(part) * kFarApart);
}

class Accumulation {
 public:
  Accumulation(const PartOfBatch& part, std::int64_t parts, bool is_mean)
      : part_(part), parts_(parts), is_mean_(is_mean) {}

  PartOfBatch make() {
    begin();
    for (std::int64_t i = 0; i < parts_; ++i) add_part(i);
    finish();
    return std::move(made_);
  }

 private:
  Graph& graph() { return made_.graph; }
  const Graph& old() const { return part_.graph; }

  void begin() {
    graph().name = old().name;
    graph().info = old().info;
    graph().opsets = old().opsets;
    for (const Value& value : old().values()) graph().add_value(value.name, value.type);
    for (const auto& [value, tensor] : old().initializers()) {
      graph().add_initializer(value, tensor);
    }
    mapped_.resize(old().value_count());
    for (std::uint32_t i = 0; i < old().value_count(); ++i) mapped_[i] = ValueId{i};
    for (const ValueId sample : part_.samples) made_.samples.push_back(stacked(sample));
  }

  // A value of all parts, under the name that the first part's had.
  ValueId stacked(ValueId value) {
    ValueType type = old().value(value).type;
    if (!type.has_known_shape() || type.shape->rank() == 0) {
      fail_bad_input("'{}' is {}: it has no batch axis that could be split into parts",
                     old().value(value).name, type.to_string());
    }
    auto dims = type.shape->values();
    dims[0] *= parts_;
    type.shape = Shape(dims);
    graph().value(value).name += suffix(0);
    return graph().add_value(old().value(value).name, type);
  }

  ValueId ints(const std::string& name, std::int64_t number) {
    const ValueId value = graph().add_value(unused_name(graph(), name));
    graph().add_initializer(value, Tensor::of_int64({1}, {number}));
    return value;
  }

  ValueId add_node(const std::string& name, std::string op, std::vector<ValueId> inputs,
                   ValueType type, Phase phase, std::vector<Attribute> attributes = {}) {
    const ValueId output = graph().add_value(unused_name(graph(), name), std::move(type));
    put({.name = name,
         .op = std::move(op),
         .domain = "",
         .inputs = std::move(inputs),
         .outputs = {output},
         .attributes = std::move(attributes)},
        phase, {});
    return output;
  }

  void put(Node node, Phase phase, NodeId layer) {
    graph().add_node(std::move(node));
    made_.phases.push_back(phase);
    made_.layers.push_back(layer);
  }

  void add_part(std::int64_t part) {
    begin_part(part);
    for (std::uint32_t i = 0; i < old().node_count(); ++i) {
      Node node = old().node(NodeId{i});
      if (part > 0) rename(node, part);
      put(std::move(node), part_.phases[i], part_.layers[i]);
      add_gradients_of(NodeId{i}, part);
    }
    losses_.push_back(mapped_[part_.loss.number]);
    for (const ValueId output : part_.outputs) {
      outputs_[output].push_back(mapped_[output.number]);
    }
  }

  // Samples are cut from the whole batch; running statistics are those the part before left.
  void begin_part(std::int64_t part) {
    std::map<ValueId, ValueId> latest;
    for (const auto& [running, next] : part_.statistics) latest[running] = mapped_[next.number];
    for (const Node& node : old().nodes()) {
      for (const ValueId output : node.outputs) {
        if (part > 0 && output.is_valid()) mapped_[output.number] = copy_of(output, part);
      }
    }
    for (const auto& [running, next] : latest) {
      if (part > 0) mapped_[running.number] = next;
    }
    for (std::size_t i = 0; i < part_.samples.size(); ++i) cut(i, part);
  }

  ValueId copy_of(ValueId value, std::int64_t part) {
    const Value& first = old().value(value);
    return graph().add_value(unused_name(graph(), first.name + suffix(part)), first.type);
  }

  void cut(std::size_t which, std::int64_t part) {
    const ValueId sample = part_.samples[which];
    const std::int64_t rows = old().value(sample).type.shape->values()[0];
    const ValueId to = part == 0 ? sample : copy_of(sample, part);
    mapped_[sample.number] = to;
    const std::string name = graph().value(to).name;
    put({.name = name,
         .op = "Slice",
         .domain = "",
         .inputs = {made_.samples[which], ints(name + "/begin", part * rows),
                    ints(name + "/end", (part + 1) * rows), ints(name + "/axis", 0)},
         .outputs = {to}},
        Phase::Forward, {});
  }

  void rename(Node& node, std::int64_t part) const {
    node.name += suffix(part);
    for (auto* ids : {&node.inputs, &node.outputs}) {
      for (ValueId& id : *ids) {
        if (id.is_valid()) id = mapped_[id.number];
      }
    }
    const bool draws = node.domain == kOwnDomain && node.op == "Dropout";
    if (draws) node.set("seed", seed_of_part(node.int_or("seed", 0), part));
  }

  void add_gradients_of(NodeId maker, std::int64_t part) {
    for (const auto& [parameter, gradient] : part_.gradients) {
      if (!gradient.is_valid() || old().producer(gradient) != maker) continue;
      ValueId& sum = sums_[parameter];
      const ValueId own = mapped_[gradient.number];
      sum = part == 0 ? own
                      : add_node(graph().value(own).name + "/sum", "Add", {sum, own},
                                 old().value(gradient).type, Phase::Backward);
    }
  }

  ValueId mean_of(ValueId sum, const std::string& name) {
    if (!is_mean_) return sum;
    const ValueType type = graph().value(sum).type;
    const ValueId share = graph().add_value(unused_name(graph(), name + "/share"));
    graph().add_initializer(
        share, kernels::store_real(type.element, {}, {1.0 / static_cast<double>(parts_)}));
    return add_node(name, "Mul", {sum, share}, type, Phase::Backward);
  }

  void finish() {
    for (const auto& [parameter, gradient] : part_.gradients) {
      ValueId whole;
      if (gradient.is_valid()) {
        whole = mean_of(sums_[parameter], old().value(gradient).name + "/mean");
      }
      made_.gradients.push_back({parameter, whole});
    }
    const std::string loss = old().value(part_.loss).name;
    made_.loss = mean_of(
        add_node(loss + "/sum", "Sum", losses_, old().value(part_.loss).type, Phase::Forward),
        loss + "/mean");
    for (const ValueId output : part_.outputs) join_outputs(output);
    for (const auto& [running, next] : part_.statistics) {
      made_.statistics.push_back({running, mapped_[next.number]});
    }
  }

  void join_outputs(ValueId output) {
    const ValueId whole = stacked(output);
    put({.name = graph().value(whole).name,
         .op = "Concat",
         .domain = "",
         .inputs = outputs_[output],
         .outputs = {whole},
         .attributes = {{"axis", std::int64_t{0}}}},
        Phase::Forward, {});
    made_.outputs.push_back(whole);
  }

  const PartOfBatch& part_;
  std::int64_t parts_ = 1;
  bool is_mean_ = true;
  PartOfBatch made_;
  std::vector<ValueId> mapped_;  // by value of one part: what it is in the current one
  std::map<ValueId, ValueId> sums_;
  std::vector<ValueId> losses_;
  std::map<ValueId, std::vector<ValueId>> outputs_;
};

}  // namespace

PartOfBatch accumulated(const PartOfBatch& part, std::int64_t parts, bool is_mean) {
  return Accumulation(part, parts, is_mean).make();
}

}  // namespace assay::transform
