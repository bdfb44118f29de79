#include "execution/mutate.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "graph/half.h"

namespace assay::fuzz {

namespace {

constexpr std::int64_t kMostStoredElements = 4096;
constexpr int kNewestType = static_cast<int>(DataType::Int4);

std::size_t below(RandomNumbers& random, std::size_t limit) {
  return static_cast<std::size_t>(random.below(limit));
}

bool happens(RandomNumbers& random, std::size_t once_in) {
  return below(random, once_in) == 0;
}

template <typename T>
auto& one_of(RandomNumbers& random, T& list) {
  return list[below(random, std::size(list))];
}

std::int64_t some_integer(RandomNumbers& random) {
  constexpr std::int64_t kSmall[] = {0, 1, -1, 2, -2, 3, -3, 4, 5, 6, 7, 8, 9, 16};
  constexpr std::int64_t kExtreme[] = {17,
                                       64,
                                       100,
                                       -100,
                                       1000,
                                       std::int64_t{1} << 20,
                                       std::numeric_limits<std::int32_t>::max(),
                                       std::numeric_limits<std::int32_t>::min(),
                                       std::int64_t{1} << 32,
                                       std::int64_t{1} << 40,
                                       std::int64_t{1} << 62,
                                       std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::min()};
  return happens(random, 4) ? one_of(random, kExtreme) : one_of(random, kSmall);
}

float some_number(RandomNumbers& random) {
  using Limits = std::numeric_limits<float>;
  constexpr float kNumbers[] = {0.0f,
                                1.0f,
                                -1.0f,
                                0.5f,
                                2.0f,
                                -0.5f,
                                3.7f,
                                1e-9f,
                                1e9f,
                                Limits::max(),
                                Limits::lowest(),
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN()};
  return one_of(random, kNumbers);
}

std::int64_t some_dimension(RandomNumbers& random) {
  constexpr std::int64_t kSizes[] = {0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33};
  return happens(random, 100) ? std::int64_t{1} << below(random, 63) : one_of(random, kSizes);
}

DataType some_type(RandomNumbers& random) {
  constexpr DataType kUsual[] = {DataType::Float32, DataType::Int64, DataType::Float16,
                                 DataType::Int8,    DataType::Bool,  DataType::Float64};
  if (happens(random, 2)) return one_of(random, kUsual);
  return static_cast<DataType>(1 + below(random, kNewestType));
}

void change_dims(std::vector<std::int64_t>& dims, RandomNumbers& random) {
  const std::size_t kind = below(random, 6);
  if (kind == 0 || dims.empty()) {
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(below(random, dims.size() + 1)),
                some_dimension(random));
  } else if (kind == 1) {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(below(random, dims.size())));
  } else if (kind == 2) {
    std::swap(one_of(random, dims), one_of(random, dims));
  } else if (kind == 3) {
    dims.clear();
  } else {
    one_of(random, dims) = some_dimension(random);
  }
}

template <typename T, typename Draw>
void change_list(std::vector<T>& list, RandomNumbers& random, Draw draw) {
  const std::size_t kind = below(random, 5);
  if (kind == 0 || list.empty()) {
    list.push_back(draw());
  } else if (kind == 1) {
    list.pop_back();
  } else if (kind == 2 && happens(random, 4)) {
    list.clear();
  } else {
    one_of(random, list) = draw();
  }
}

template <typename T>
void overwrite(std::vector<std::byte>& bytes, std::size_t at, T value) {
  if ((at + 1) * sizeof(T) <= bytes.size()) std::memcpy(&bytes[at * sizeof(T)], &value, sizeof(T));
}

void overwrite_element(DataType type, std::vector<std::byte>& bytes, std::size_t at,
                       RandomNumbers& random) {
  const auto integer = some_integer(random);
  if (type == DataType::Float32) return overwrite(bytes, at, some_number(random));
  if (type == DataType::Float64) return overwrite<double>(bytes, at, some_number(random));
  if (type == DataType::Float16)
    return overwrite(bytes, at, graph::float_to_half(some_number(random)));
  if (type == DataType::BFloat16)
    return overwrite(bytes, at, graph::float_to_bfloat16(some_number(random)));
  if (type == DataType::Bool) return overwrite(bytes, at, std::uint8_t{1});
  if (bits(type) == 64) return overwrite(bytes, at, integer);
  if (bits(type) == 32) return overwrite(bytes, at, static_cast<std::int32_t>(integer));
  if (bits(type) == 16) return overwrite(bytes, at, static_cast<std::int16_t>(integer));
  overwrite(bytes, at, static_cast<std::int8_t>(integer));
}

// Small numbers of any type, or one in eight extreme.
Tensor drawn_numbers(DataType type, const std::vector<std::int64_t>& dims, std::int64_t elements,
                     RandomNumbers& random, bool may_be_extreme) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(*byte_size(type, elements)));
  const bool is_extreme = may_be_extreme && happens(random, 2);
  for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i) {
    if (is_extreme && happens(random, 8)) {
      overwrite_element(type, bytes, i, random);
    } else if (type == DataType::Float32) {
      overwrite(bytes, i, static_cast<float>(random.normal()));
    } else if (is_integer(type) && bits(type) >= 8) {
      bytes[i * static_cast<std::size_t>(bits(type)) / 8] = std::byte(below(random, 3));
    }
  }
  return Tensor(type, dims, heap_storage(std::move(bytes)));
}

// As before, with one element changed.
Tensor with_changed_element(const Tensor& tensor, RandomNumbers& random) {
  if (tensor.type() == DataType::String || tensor.elements() == 0) return tensor;
  const auto view = tensor.bytes();
  std::vector<std::byte> bytes(view.begin(), view.end());
  overwrite_element(tensor.type(), bytes,
                    below(random, static_cast<std::size_t>(tensor.elements())), random);
  return Tensor(tensor.type(), tensor.dims(), heap_storage(std::move(bytes)));
}

bool is_small(const std::vector<std::int64_t>& dims) {
  const auto elements = Shape(dims).elements();
  return elements && *elements <= kMostStoredElements;
}

Tensor changed_tensor(const Tensor& tensor, RandomNumbers& random) {
  if (!tensor.has_value() || tensor.elements() > kMostStoredElements) return tensor;
  std::vector<std::int64_t> dims = tensor.dims();
  const std::size_t kind = below(random, 4);
  if (kind < 2) return with_changed_element(tensor, random);
  if (kind == 2) change_dims(dims, random);
  const DataType type = kind == 3 ? some_type(random) : tensor.type();
  return is_small(dims) ? drawn_tensor(type, dims, random) : tensor;
}

std::string changed_text(RandomNumbers& random) {
  constexpr const char* kWords[] = {"",         "nearest",    "linear",        "cubic",
                                    "constant", "reflect",    "edge",          "SAME_LOWER",
                                    "VALID",    "SAME_UPPER", "mean",          "sum",
                                    "none",     "max",        "bidirectional", "reverse",
                                    "LEFT",     "DCR",        "ij,jk->ik",     "...i->..."};
  return one_of(random, kWords);
}

// Overloads for every type an attribute may have; graphs and types stay.
struct ChangeAttribute {
  RandomNumbers& random;

  void operator()(std::int64_t& value) const { value = some_integer(random); }
  void operator()(float& value) const { value = some_number(random); }
  void operator()(std::string& value) const { value = changed_text(random); }
  void operator()(std::vector<std::int64_t>& list) const {
    change_list(list, random, [&] { return some_integer(random); });
  }
  void operator()(std::vector<float>& list) const {
    change_list(list, random, [&] { return some_number(random); });
  }
  void operator()(std::vector<std::string>& list) const {
    change_list(list, random, [&] { return changed_text(random); });
  }
  void operator()(Tensor& tensor) const { tensor = changed_tensor(tensor, random); }
  void operator()(std::vector<Tensor>& list) const {
    if (!list.empty()) list.front() = changed_tensor(list.front(), random);
  }
  void operator()(GraphPtr&) const {}
  void operator()(std::vector<GraphPtr>&) const {}
  void operator()(ValueType& type) const { type.element = some_type(random); }
  void operator()(std::vector<ValueType>&) const {}
};

// One model and what may be done to it.
class Mutation {
 public:
  Mutation(Parts& parts, const Donors& donors, RandomNumbers& random)
      : parts_(parts), donors_(donors), random_(random) {}

  void once() {
    using Change = void (Mutation::*)();
    // Those that reach far into an op's own arithmetic come several times.
    constexpr Change kChanges[] = {
        &Mutation::change_attribute,  &Mutation::change_attribute,  &Mutation::change_attribute,
        &Mutation::borrow_attribute,  &Mutation::borrow_attribute,  &Mutation::remove_attribute,
        &Mutation::change_input_dims, &Mutation::change_input_dims, &Mutation::change_input_dims,
        &Mutation::change_input_type, &Mutation::change_all_types,  &Mutation::change_operands,
        &Mutation::change_operands,   &Mutation::change_results,    &Mutation::change_stored,
        &Mutation::change_stored,     &Mutation::store_input,       &Mutation::store_input,
        &Mutation::open_stored,       &Mutation::change_opset,      &Mutation::change_op,
        &Mutation::append_node,       &Mutation::append_node};
    (this->*one_of(random_, kChanges))();
  }

 private:
  Node* some_node() { return parts_.nodes.empty() ? nullptr : &one_of(random_, parts_.nodes); }
  Value* some_input() {
    if (parts_.inputs.empty()) return nullptr;
    return &parts_.values[one_of(random_, parts_.inputs).number];
  }

  void change_attribute() {
    Node* node = some_node();
    if (node == nullptr || node->attributes.empty()) return change_input_dims();
    Attribute& attribute = one_of(random_, node->attributes);
    if (auto* body = std::get_if<GraphPtr>(&attribute.value)) return change_body(*body);
    std::visit(ChangeAttribute{random_}, attribute.value);
  }

  void change_body(GraphPtr& body) {
    Parts inner = taken_apart(*body);
    Mutation(inner, donors_, random_).once();
    body = std::make_shared<const Graph>(put_together(inner));
  }

  void borrow_attribute() {
    Node* node = some_node();
    if (node == nullptr) return;
    const Attribute* attribute = donors_.attribute(node->op, random_);
    if (attribute == nullptr) return;
    node->set(attribute->name, attribute->value);
    AttributeValue& value = node->attributes.back().value;
    if (happens(random_, 2)) std::visit(ChangeAttribute{random_}, value);
  }

  void remove_attribute() {
    Node* node = some_node();
    if (node == nullptr || node->attributes.empty()) return;
    node->attributes.erase(node->attributes.begin() +
                           static_cast<std::ptrdiff_t>(below(random_, node->attributes.size())));
  }

  void change_input_dims() {
    Value* input = some_input();
    if (input == nullptr || !input->type.shape) return;
    auto dims = input->type.shape->values();
    change_dims(dims, random_);
    input->type.shape = Shape(dims);
  }

  void change_input_type() {
    if (Value* input = some_input()) input->type.element = some_type(random_);
  }

  // Alike, so that ops which want one type see it.
  void change_all_types() {
    const DataType type = some_type(random_);
    for (const ValueId input : parts_.inputs) {
      ValueType& given = parts_.values[input.number].type;
      if (given.is_tensor() && is_floating(given.element)) given.element = type;
    }
  }

  ValueId some_value() {
    return ValueId{static_cast<std::uint32_t>(below(random_, parts_.values.size()))};
  }

  void change_operands() {
    Node* node = some_node();
    if (node == nullptr) return;
    auto& inputs = node->inputs;
    const std::size_t kind = below(random_, 6);
    if (kind == 0 || inputs.empty()) {
      inputs.push_back(some_value());
    } else if (kind == 1) {
      inputs.pop_back();
    } else if (kind == 2) {
      one_of(random_, inputs) = ValueId{};
    } else if (kind == 3) {
      std::swap(one_of(random_, inputs), one_of(random_, inputs));
    } else if (kind == 4) {
      one_of(random_, inputs) = some_value();
    } else {
      one_of(random_, inputs) = one_of(random_, inputs);
    }
  }

  void change_results() {
    Node* node = some_node();
    if (node == nullptr) return;
    if (happens(random_, 2) || node->outputs.empty()) {
      node->outputs.push_back(parts_.add_value("extra", {}));
      if (happens(random_, 2)) parts_.outputs.push_back(node->outputs.back());
    } else {
      const ValueId removed = node->outputs.back();
      if (happens(random_, 2))
        node->outputs.pop_back();
      else
        one_of(random_, node->outputs) = ValueId{};
      std::erase(parts_.outputs, removed);
    }
  }

  void change_stored() {
    if (parts_.initializers.empty()) return store_input();
    Initializer& stored = one_of(random_, parts_.initializers);
    stored.tensor = changed_tensor(stored.tensor, random_);
    declare(stored);
  }

  void declare(const Initializer& stored) {
    parts_.values[stored.value.number].type =
        tensor_type(stored.tensor.type(), stored.tensor.shape());
  }

  // An input becomes a stored tensor: a weight, or settings known before running.
  void store_input() {
    if (parts_.inputs.empty()) return;
    const std::size_t at = below(random_, parts_.inputs.size());
    const ValueId input = parts_.inputs[at];
    const ValueType& type = parts_.values[input.number].type;
    if (!type.is_tensor() || !type.has_known_shape() || !is_small(type.shape->values())) return;
    if (type.element == DataType::Undefined || parts_.initializer(input) != nullptr) return;
    parts_.initializers.push_back(
        {input, drawn_tensor(type.element, type.shape->values(), random_)});
    parts_.inputs.erase(parts_.inputs.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // A stored tensor becomes an input: what was known is no longer.
  void open_stored() {
    if (parts_.initializers.empty()) return;
    const std::size_t at = below(random_, parts_.initializers.size());
    declare(parts_.initializers[at]);
    parts_.inputs.push_back(parts_.initializers[at].value);
    parts_.initializers.erase(parts_.initializers.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void change_opset() {
    constexpr std::size_t kNewestOpset = 21;
    parts_.opsets[""] = static_cast<std::int64_t>(1 + below(random_, kNewestOpset));
  }

  void change_op() {
    Node* node = some_node();
    if (node == nullptr) return;
    const Node& donor = donors_.node(random_);
    node->op = donor.op;
    node->domain = donor.domain;
    import_domain(donor.domain);
    if (happens(random_, 2)) node->attributes = donor.attributes;
  }

  // A node of another model on a result of this one; its other operands become inputs.
  void append_node() {
    if (parts_.outputs.empty() || !parts_.captures.empty()) return;
    Node node = donors_.node(random_);
    ValueId& result = one_of(random_, parts_.outputs);
    const std::size_t taken = node.inputs.empty() ? 0 : below(random_, node.inputs.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_valid()) continue;
      node.inputs[i] = i == taken ? result : new_operand(result);
    }
    for (ValueId& output : node.outputs) output = parts_.add_value("appended", {});
    if (node.outputs.empty()) return;
    import_domain(node.domain);
    result = node.outputs.front();
    parts_.nodes.push_back(std::move(node));
  }

  void import_domain(const std::string& domain) {
    if (!domain.empty()) parts_.opsets.try_emplace(domain, 1);
  }

  ValueId new_operand(ValueId like) {
    if (happens(random_, 3)) return like;
    std::vector<std::int64_t> dims;
    for (std::size_t rank = below(random_, 5); rank > 0; --rank)
      dims.push_back(some_dimension(random_));
    const ValueId operand =
        parts_.add_value("operand", tensor_type(some_type(random_), Shape(dims)));
    if (is_small(dims) && happens(random_, 2)) {
      const DataType type = parts_.values[operand.number].type.element;
      parts_.initializers.push_back({operand, drawn_tensor(type, dims, random_)});
    } else {
      parts_.inputs.push_back(operand);
    }
    return operand;
  }

  Parts& parts_;
  const Donors& donors_;
  RandomNumbers& random_;
};

}  // namespace

Donors::Donors(std::span<const Seed> seeds) {
  for (const Seed& seed : seeds) {
    for (const Node& node : seed.graph.nodes()) {
      nodes_.push_back(node);
      auto& attributes = attributes_[node.op];
      attributes.insert(attributes.end(), node.attributes.begin(), node.attributes.end());
    }
  }
}

const Node& Donors::node(RandomNumbers& random) const {
  return one_of(random, nodes_);
}

const Attribute* Donors::attribute(const std::string& op, RandomNumbers& random) const {
  const auto found = attributes_.find(op);
  if (found == attributes_.end() || found->second.empty()) return nullptr;
  return &one_of(random, found->second);
}

Tensor drawn_tensor(DataType type, const std::vector<std::int64_t>& dims, RandomNumbers& random,
                    bool may_be_extreme) {
  const auto elements = *Shape(dims).elements();
  if (type == DataType::String)
    return Tensor(dims, std::vector<std::string>(static_cast<std::size_t>(elements), "word"));
  return drawn_numbers(type, dims, elements, random, may_be_extreme);
}

Graph mutated(const Graph& graph, const Donors& donors, RandomNumbers& random) {
  constexpr std::size_t kMostChanges = 4;
  Parts parts = taken_apart(graph);
  Mutation mutation(parts, donors, random);
  for (std::size_t left = 1 + below(random, kMostChanges); left > 0; --left) mutation.once();
  return put_together(parts);
}

}  // namespace assay::fuzz
