// Products of matrices: Gemm, MatMul, Einsum and their quantised forms.
#include <algorithm>
#include <map>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

// Output elements × the length of the axis that is summed over.
Work contraction(std::int64_t output_elements, std::int64_t depth) {
  return macs_only(saturating_multiply(output_elements, depth));
}

Work gemm(const OpView& op) {
  const auto a = op.input_dims(0);
  if (a.size() != 2) {
    fail_bad_input("Gemm '{}': A has rank {}, expected 2", op.graph().display_name(op.id()),
                   a.size());
  }
  const std::int64_t depth = op.node().int_or("transA", 0) != 0 ? a[0] : a[1];
  Work work = contraction(op.output_elements(), depth);
  if (op.has_input(2)) work.bias_flops = op.output_elements();
  return work;
}

Work matmul(const OpView& op) {
  return contraction(op.output_elements(), op.last_axis(0));
}

Work qlinear_matmul(const OpView& op) {
  Work work = matmul(op);
  work.other_flops = saturating_multiply(2, op.output_elements());  // rescale and round
  return work;
}

// The terms of an equation such as "bhid,bhjd->bhij": one string of letters an operand.
std::vector<std::string> operand_terms(const OpView& op) {
  std::string equation = op.node().string_or("equation", "");
  std::erase(equation, ' ');
  auto terms = split(equation.substr(0, equation.find("->")), ',');
  if (terms.size() != op.node().inputs.size()) {
    fail_bad_input("Einsum '{}': the equation '{}' names {} operands, the node has {}",
                   op.graph().display_name(op.id()), equation, terms.size(),
                   op.node().inputs.size());
  }
  return terms;
}

// Letters stand for axes; an ellipsis for the axes in front that no letter names.
void note_axes(const std::string& term, std::span<const std::int64_t> dims,
               std::map<std::string, std::int64_t>& sizes) {
  const auto dots = term.find("...");
  const std::size_t letters = dots == std::string::npos ? term.size() : term.size() - 3;
  if (letters > dims.size())
    fail_bad_input("Einsum: '{}' names more axes than its operand has", term);
  const std::size_t hidden = dots == std::string::npos ? 0 : dims.size() - letters;
  const auto note = [&](const std::string& axis, std::int64_t dim) {
    auto& size = sizes[axis];
    size = std::max(size, dim);
  };
  std::size_t at = 0;
  for (std::size_t i = 0; i < term.size() && at < dims.size();) {
    if (i == dots) {
      // Ellipsis axes are aligned at their end, as broadcasting is.
      for (std::size_t k = 0; k < hidden; ++k) note(fmt::format("...{}", hidden - k), dims[at++]);
      i += 3;
    } else {
      note(std::string(1, term[i++]), dims[at++]);
    }
  }
}

// One MAC for every combination of all indices and every operand after the first.
Work einsum(const OpView& op) {
  const auto terms = operand_terms(op);
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t i = 0; i < terms.size(); ++i) note_axes(terms[i], op.input_dims(i), sizes);
  std::int64_t combinations = 1;
  for (const auto& [axis, size] : sizes) combinations = saturating_multiply(combinations, size);
  if (terms.size() == 1) {
    const bool sums = combinations > op.output_elements();
    return flops_only(sums ? combinations : 0);
  }
  return macs_only(saturating_multiply(combinations, static_cast<std::int64_t>(terms.size()) - 1));
}

Work det(const OpView& op) {
  const std::int64_t n = op.last_axis(0);  // LU: 2/3·n³ for each matrix
  const std::int64_t cube = saturating_multiply(n, saturating_multiply(n, n));
  return flops_only(saturating_multiply(op.output_elements(), saturating_multiply(2, cube) / 3));
}

Work linear_model(const OpView& op) {  // ai.onnx.ml LinearRegressor, LinearClassifier
  const auto* weights = op.node().get<std::vector<float>>("coefficients");
  const auto dims = op.input_dims(0);
  const std::int64_t rows = dims.size() > 1 ? dims[0] : 1;
  return macs_only(
      saturating_multiply(rows, weights ? static_cast<std::int64_t>(weights->size()) : 0));
}

}  // namespace

void add_matrix_costs(CostTable& table) {
  table["Gemm"] = {gemm};
  table["MatMul"] = {matmul};
  table["MatMulInteger"] = {matmul};
  table["QLinearMatMul"] = {qlinear_matmul};
  table["Einsum"] = {einsum};
  table["Det"] = {det};
  table["ai.onnx.ml:LinearRegressor"] = {linear_model};
  table["ai.onnx.ml:LinearClassifier"] = {linear_model};
}

}  // namespace assay::cost
