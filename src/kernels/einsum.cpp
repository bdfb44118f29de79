// Einsum: letters name axes, "..." stands for axes that broadcast. Operands are multiplied two by
// two; a letter that neither a later operand nor the result needs is summed over at once.
#include <algorithm>
#include <map>
#include <set>

#include "base/checked.h"
#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/real.h"
#include "kernels/strided_walk.h"

namespace assay::kernels {

namespace {

// A letter, or a broadcast axis counted from the last: -1, -2, …
using Label = int;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The labels of one term; `dots` axes stand for its ellipsis.
std::vector<Label> labels_of(const KernelCall& call, std::string_view term, std::size_t dots) {
  std::vector<Label> labels;
  bool has_dots = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      labels.push_back(term[i]);
      continue;
    }
    if (term.substr(i, 3) != "..." || has_dots) call.fail("cannot read '{}' in the equation", term);
    for (std::size_t back = dots; back > 0; --back) labels.push_back(-static_cast<Label>(back));
    has_dots = true;
    i += 2;
  }
  return labels;
}

std::size_t letters_in(std::string_view term) {
  return static_cast<std::size_t>(std::ranges::count_if(term, is_letter));
}

struct EinsumEquation {
  std::vector<std::vector<Label>> operands = {};
  std::vector<Label> result = {};
};

// Labels that occur once: broadcast axes first, then letters in alphabetical order.
std::vector<Label> implied_result(const std::vector<std::vector<Label>>& operands) {
  std::map<Label, int> times;
  for (const auto& labels : operands) {
    for (const Label label : labels) ++times[label];
  }
  std::vector<Label> result;
  for (const auto& [label, count] : times) {
    if (label < 0 || count == 1) result.push_back(label);
  }
  return result;
}

EinsumEquation equation_of(const KernelCall& call) {
  std::string text;
  for (const char c : call.node.string_or("equation", "")) {
    if (c != ' ') text += c;
  }
  const std::size_t arrow = text.find("->");
  const auto terms = split(text.substr(0, arrow), ',');
  if (terms.size() != call.inputs.size())
    call.fail("the equation names {} inputs, {} are given", terms.size(), call.inputs.size());
  EinsumEquation equation;
  std::size_t most_dots = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::size_t rank = call.input(i).dims().size();
    const std::size_t letters = letters_in(terms[i]);
    const bool has_dots = terms[i].find('.') != std::string::npos;
    if (rank < letters || (!has_dots && rank != letters))
      call.fail("an input of {} does not fit '{}'", join_dims(call.input(i).dims()), terms[i]);
    const std::size_t dots = has_dots ? rank - letters : 0;
    most_dots = std::max(most_dots, dots);
    equation.operands.push_back(labels_of(call, terms[i], dots));
  }
  equation.result = arrow == std::string::npos
                        ? implied_result(equation.operands)
                        : labels_of(call, std::string_view(text).substr(arrow + 2), most_dots);
  return equation;
}

// A tensor whose axes have names.
template <typename Number>
struct Labelled {
  std::vector<Label> labels = {};
  Dims dims = {};
  std::vector<Number> values = {};

  // The step of `label`; a label that occurs twice gives the diagonal, one of size 1 is broadcast.
  std::int64_t step(Label label) const {
    const Dims strides = row_major_strides(dims);
    std::int64_t step = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == label && dims[i] != 1) step += strides[i];
    }
    return step;
  }
  Dims steps(const std::vector<Label>& order) const {
    Dims result;
    for (const Label label : order) result.push_back(step(label));
    return result;
  }
};

using Sizes = std::map<Label, std::int64_t>;

template <typename Number>
void bind_sizes(const KernelCall& call, const Labelled<Number>& operand, Sizes& sizes) {
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    std::int64_t& size = sizes.try_emplace(operand.labels[i], 1).first->second;
    if (size != 1 && operand.dims[i] != 1 && size != operand.dims[i])
      call.fail("a letter of the equation has the sizes {} and {}", size, operand.dims[i]);
    if (size == 1) size = operand.dims[i];
  }
}

Dims sizes_of(const std::vector<Label>& labels, const Sizes& sizes) {
  Dims dims;
  for (const Label label : labels) dims.push_back(sizes.at(label));
  return dims;
}

// Σ a · b over every label that is not kept.
template <typename Number>
Labelled<Number> contracted(const KernelCall& call, const Labelled<Number>& a,
                            const Labelled<Number>& b, const std::vector<Label>& kept) {
  Sizes sizes;
  bind_sizes(call, a, sizes);
  bind_sizes(call, b, sizes);
  std::vector<Label> summed;
  for (const auto& [label, size] : sizes) {
    if (std::ranges::find(kept, label) == kept.end()) summed.push_back(label);
  }
  Labelled<Number> result = {kept, sizes_of(kept, sizes), {}};
  const Dims summed_dims = sizes_of(summed, sizes);
  if (!checked_product(summed_dims)) call.fail("the sum is too large");
  result.values.resize(result_elements(call, result.dims));
  const Dims a_kept = a.steps(kept), b_kept = b.steps(kept);
  const StridedWalk<2> walk(summed_dims, {a.steps(summed), b.steps(summed)});
  for_each_index(result.dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t a_start = offset_of(index, a_kept);
    const std::int64_t b_start = offset_of(index, b_kept);
    Number sum = 0;
    walk.for_each([&](std::size_t, const StridedWalk<2>::Offsets& at) {
      sum += a.values[a_start + at[0]] * b.values[b_start + at[1]];
    });
    result.values[i] = sum;
  });
  return result;
}

// Labels of `a` and `b` that the result or an operand after `next` needs, in order of appearance.
std::vector<Label> needed_later(const EinsumEquation& equation, std::size_t next,
                                const std::vector<Label>& a, const std::vector<Label>& b) {
  std::set<Label> wanted(equation.result.begin(), equation.result.end());
  for (std::size_t i = next + 1; i < equation.operands.size(); ++i)
    wanted.insert(equation.operands[i].begin(), equation.operands[i].end());
  std::vector<Label> needed;
  for (const auto* labels : {&a, &b}) {
    for (const Label label : *labels) {
      if (wanted.erase(label) > 0) needed.push_back(label);
    }
  }
  return needed;
}

void check_result(const KernelCall& call, const EinsumEquation& equation) {
  std::set<Label> known, seen;
  for (const auto& labels : equation.operands) known.insert(labels.begin(), labels.end());
  for (const Label label : equation.result) {
    if (!known.contains(label) || !seen.insert(label).second)
      call.fail("the result of the equation names a letter twice or one that no input has");
  }
}

template <typename T>
Labelled<SumOf<T>> evaluated(const KernelCall& call, const EinsumEquation& equation) {
  using Number = SumOf<T>;
  Labelled<Number> product = {{}, {}, {Number{1}}};
  for (std::size_t i = 0; i < equation.operands.size(); ++i) {
    const auto numbers = load<T>(call.input(i));
    Labelled<Number> operand = {equation.operands[i], call.input(i).dims(), {}};
    operand.values.reserve(numbers.size());
    for (const T number : numbers) operand.values.push_back(static_cast<Number>(number));
    const bool is_last = i + 1 == equation.operands.size();
    product = contracted(
        call, product, operand,
        is_last ? equation.result : needed_later(equation, i, product.labels, operand.labels));
  }
  return product;
}

std::vector<Tensor> einsum(const KernelCall& call) {
  const EinsumEquation equation = equation_of(call);
  check_result(call, equation);
  const DataType type = call.input(0).type();
  for (const Tensor& input : call.inputs) {
    if (input.type() != type) call.fail("inputs differ in type");
  }
  return with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto result = evaluated<T>(call, equation);
    return std::vector<Tensor>{store<T>(type, result.dims, rounded_to<T>(result.values))};
  });
}

}  // namespace

void add_einsum_kernels(KernelTable& table) {
  table["Einsum"] = einsum;
}

}  // namespace assay::kernels
