#include "assay/bind.h"

#include <algorithm>
#include <cctype>

#include "base/fail.h"
#include "base/text.h"
#include "infer/batch_name.h"
#include "infer/declared.h"

namespace assay {

using namespace assay::infer;

bool infer::is_called_batch(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("batch") != std::string::npos;
}

namespace {

bool is_open(const Dim& dim) {
  return !dim.is_known();
}

// The placeholder for an unknown dimension in a suggested shape: H for "height".
std::string suggested_dim(const Dim& dim) {
  if (dim.is_known()) return dim.to_string();
  const char initial = dim.is_symbol() ? dim.symbol_name().front() : 'N';
  const auto letter = static_cast<unsigned char>(initial);
  return std::isalpha(letter) != 0 ? std::string(1, static_cast<char>(std::toupper(letter))) : "N";
}

class Binder {
 public:
  Binder(Graph& graph, const Bindings& bindings) : graph_(graph), bindings_(bindings) {
    for (const ValueId id : graph.inputs()) declared_.emplace(id, graph.value(id).type);
  }

  std::vector<std::string> run() {
    check_numbers();
    check_names();
    for (const auto& [name, number] : bindings_.dims) bind_symbol(name, number, "`dims`");
    apply_input_shapes();
    if (bindings_.batch) apply_batch(*bindings_.batch);
    assume_batch();
    substitute_in_inputs();
    refuse_open_inputs();
    settle_declared_shapes(graph_, symbols_, replaced_number_);
    return std::move(assumptions_);
  }

 private:
  void check_numbers() const {
    for (const auto& [name, number] : bindings_.dims) {
      if (number < 1) fail_bad_input("`dims` {}={}: a dimension must be at least 1", name, number);
    }
    if (bindings_.batch && *bindings_.batch < 1)
      fail_bad_input("`batch` {}: must be at least 1", *bindings_.batch);
  }

  void check_names() const {
    const auto symbols = symbol_names();
    for (const auto& [name, number] : bindings_.dims) {
      if (std::ranges::find(symbols, name) == symbols.end())
        refuse_name("dimension", name, symbols);
    }
    const auto inputs = input_names();
    for (const auto& [name, shape] : bindings_.input_shapes) {
      if (std::ranges::find(inputs, name) == inputs.end()) refuse_name("input", name, inputs);
    }
  }

  [[noreturn]] static void refuse_name(const char* what, const std::string& name,
                                       const std::vector<std::string>& known) {
    const auto near = nearest(name, known);
    const std::string advice = near ? fmt::format("; did you mean '{}'?", *near) : "";
    if (known.empty())
      fail_bad_input("the model has no {} '{}': none of its {}s has a name", what, name, what);
    fail_bad_input("the model has no {} '{}': it has {}{}", what, name, join(known, ", "), advice);
  }

  template <typename Visit>
  void for_each_tensor_input(Visit visit) const {
    for (const ValueId id : graph_.inputs()) {
      if (graph_.value(id).type.is_tensor()) visit(graph_.value(id));
    }
  }

  std::vector<std::string> input_names() const {
    std::vector<std::string> names;
    for (const ValueId id : graph_.inputs()) names.push_back(graph_.value(id).name);
    return names;
  }

  std::vector<std::string> symbol_names() const {
    std::vector<std::string> names;
    for_each_tensor_input([&](const Value& input) {
      if (!input.type.shape) return;
      for (const Dim& dim : *input.type.shape) {
        if (dim.is_symbol() && std::ranges::find(names, dim.symbol_name()) == names.end())
          names.push_back(dim.symbol_name());
      }
    });
    return names;
  }

  void bind_symbol(const std::string& symbol, std::int64_t number, std::string_view flag) {
    const auto [found, is_new] = symbols_.emplace(symbol, number);
    if (!is_new && found->second != number) {
      fail_bad_input("dimension '{}' would be {} and, by {}, {}", symbol, found->second, flag,
                     number);
    }
  }

  void apply_input_shapes() {
    for (const ValueId id : graph_.inputs()) {
      Value& input = graph_.value(id);
      const auto given = bindings_.input_shapes.find(input.name);
      if (given != bindings_.input_shapes.end()) apply_shape(input, given->second);
    }
  }

  void apply_shape(Value& input, const Shape& given) {
    const std::string flag = fmt::format("`input_shapes` {}={}", input.name, given.to_string());
    if (!input.type.is_tensor())
      fail_bad_input("{}: the input is {}, not a tensor", flag, input.type.to_string());
    if (!input.type.shape) input.type.shape = Shape(std::vector<Dim>(given.rank()));
    Shape& declared = *input.type.shape;
    if (declared.rank() != given.rank()) {
      fail_bad_input("{}: the input has {} dimensions ({}), this gives {}", flag, declared.rank(),
                     declared.to_string(), given.rank());
    }
    for (std::size_t axis = 0; axis < given.rank(); ++axis) {
      if (!given[axis].is_known()) continue;
      if (given[axis].value() < 1) fail_bad_input("{}: a dimension must be at least 1", flag);
      if (declared[axis].is_symbol())
        bind_symbol(declared[axis].symbol_name(), given[axis].value(), flag);
      replace(declared[axis], given[axis].value());
    }
  }

  void replace(Dim& dim, std::int64_t number) {
    replaced_number_ = replaced_number_ || (dim.is_known() && dim.value() != number);
    dim = Dim(number);
  }

  bool has_explicit_shape(const Value& input) const {
    return bindings_.input_shapes.contains(input.name);
  }

  // The leading dimension of an input whose shape no flag gives; null when it has none.
  Dim* leading_dim(ValueId id) {
    Value& input = graph_.value(id);
    const bool has_axis =
        input.type.is_tensor() && input.type.shape && input.type.shape->rank() > 0;
    return has_axis && !has_explicit_shape(input) ? &(*input.type.shape)[0] : nullptr;
  }

  void apply_batch(std::int64_t batch) {
    const auto named = batch_symbols();
    for (const auto& symbol : named) bind_symbol(symbol, batch, "`batch`");
    if (!named.empty()) return;
    bool found_open = false;
    for (const ValueId id : graph_.inputs()) {
      Dim* dim = leading_dim(id);
      if (dim == nullptr || !is_open(*dim)) continue;
      found_open = true;
      if (dim->is_symbol()) bind_symbol(dim->symbol_name(), batch, "`batch`");
      *dim = Dim(batch);
    }
    if (!found_open) replace_fixed_batch(batch);
  }

  // Dimensions that the model names as a batch, on any axis; they were symbols in the file.
  std::vector<std::string> batch_symbols() const {
    std::vector<std::string> found;
    for (const auto& [id, type] : declared_) {
      if (!type.shape) continue;
      for (const Dim& dim : *type.shape) {
        if (!dim.is_symbol() || !is_called_batch(dim.symbol_name())) continue;
        if (std::ranges::find(found, dim.symbol_name()) == found.end()) {
          found.push_back(dim.symbol_name());
        }
      }
    }
    return found;
  }

  // Every input whose first dimension equals that of the first input is assumed to start with the
  // batch.
  void replace_fixed_batch(std::int64_t batch) {
    std::optional<std::int64_t> old;
    for (const ValueId id : graph_.inputs()) {
      Dim* dim = leading_dim(id);
      if (dim == nullptr) continue;
      if (!old) old = dim->value();
      if (dim->value() == *old) replace(*dim, batch);
    }
    if (!old) {
      fail_bad_input("`batch` {}: there is no input left whose first axis it could set", batch);
    }
    if (*old != 1 && *old != batch) {
      assumptions_.push_back(fmt::format(
          "`batch` {} replaces the fixed first axis, which is {}; if that is not the batch, use "
          "`input_shapes`",
          batch, *old));
    }
  }

  void assume_batch() {
    const auto named = batch_symbols();
    if (!named.empty()) return assume_named_batch(named);
    std::vector<std::string> inputs;
    for (const ValueId id : graph_.inputs()) {
      Dim* dim = leading_dim(id);
      if (dim == nullptr || !is_open(*dim)) continue;
      const bool is_bound = dim->is_symbol() && symbols_.contains(dim->symbol_name());
      if (is_bound) continue;
      inputs.push_back(fmt::format("'{}' ({})", graph_.value(id).name,
                                   graph_.value(id).type.shape->to_string()));
      assumed_.push_back(dim);
    }
    for (Dim* dim : assumed_) {
      if (dim->is_symbol()) symbols_.emplace(dim->symbol_name(), 1);
      *dim = Dim(1);
    }
    if (inputs.empty()) return;
    assumptions_.push_back(
        fmt::format("the batch is taken as 1: axis 0 of input {} is unknown; `batch` N sets it",
                    join(inputs, ", ")));
  }

  void assume_named_batch(const std::vector<std::string>& named) {
    for (const auto& symbol : named) {
      const bool is_new = symbols_.emplace(symbol, 1).second;
      if (!is_new) continue;
      assumptions_.push_back(fmt::format(
          "the batch is taken as 1: dimension '{}' is unknown; `batch` N sets it", symbol));
    }
  }

  void substitute_in_inputs() {
    for (const ValueId id : graph_.inputs()) {
      auto& shape = graph_.value(id).type.shape;
      if (shape) substitute_symbols(*shape, symbols_);
    }
  }

  std::string described_open_input(ValueId id) const {
    const Value& input = graph_.value(id);
    if (!input.type.shape) {
      return fmt::format(
          "input '{}' has no shape: set `input_shapes` {}=..., for example "
          "`input_shapes` {}=1x3x224x224",
          input.name, input.name, input.name);
    }
    std::vector<std::string> flags;
    std::vector<std::string> dims;
    for (const Dim& dim : *input.type.shape) {
      const std::string flag = dim.is_symbol() ? fmt::format("`dims` {}=N", dim.symbol_name()) : "";
      if (!flag.empty() && std::ranges::find(flags, flag) == flags.end()) flags.push_back(flag);
      dims.push_back(suggested_dim(dim));
    }
    const std::string by_name = flags.empty() ? "" : join(flags, ", ") + " or ";
    return fmt::format("input '{}' ({}) has open dimensions: set {}`input_shapes` {}={}",
                       input.name, declared_.at(id).shape->to_string(), by_name, input.name,
                       join(dims, "x"));
  }

  void refuse_open_inputs() const {
    std::vector<std::string> problems;
    for (const ValueId id : graph_.inputs()) {
      const ValueType& type = graph_.value(id).type;
      if (type.is_tensor() && !type.has_known_shape()) problems.push_back(described_open_input(id));
    }
    if (!problems.empty()) fail_bad_input("{}", join(problems, "; "));
  }

  Graph& graph_;
  const Bindings& bindings_;
  std::map<ValueId, ValueType> declared_;  // as the file has them, for messages
  std::map<std::string, std::int64_t> symbols_;
  std::vector<std::string> assumptions_;
  std::vector<Dim*> assumed_;
  bool replaced_number_ = false;
};

}  // namespace

BoundGraph bind_inputs(Graph graph, const Bindings& bindings) {
  auto assumptions = Binder(graph, bindings).run();
  return {std::move(graph), std::move(assumptions)};
}

}  // namespace assay
