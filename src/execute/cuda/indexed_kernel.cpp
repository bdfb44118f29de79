#include "execute/cuda/indexed_kernel.h"

#include <fmt/core.h>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

std::vector<std::string> index_names(const Dims& dims) {
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) names.push_back(fmt::format("i{}", axis));
  return names;
}

std::string coordinates_of(const Placement& result) {
  std::string text;
  std::string rest = "element";
  const auto order = result.order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t length = result.dims[order[i]];
    text += fmt::format("  const int i{} = (int)({});\n", order[i],
                        i == 0 ? rest : remainder_text(rest, length));
    rest = "(" + quotient_text(rest, length) + ")";
  }
  return text;
}

KernelText indexed_kernel(const Epilogue& epilogue, const std::string& parameters,
                          const std::string& body, const std::string& sum) {
  const Placement& result = epilogue.result;
  const std::int64_t count = result.elements();
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({}{}) {{
  const {} element = blockIdx.x * {}ll + threadIdx.x;
  if (element >= {}) return;
{}{}{}}}
)",
      parameters, epilogue.parameters(),
      walk_over(std::vector{result}).is_short() ? "int" : "long long", kBlockThreads, count,
      coordinates_of(result), body, epilogue.statements(sum, index_names(result.dims)));
  return {text, launch_for(count)};
}

void add_indexed_step(Lowering& lowering, NodeId id, const Epilogue& epilogue,
                      std::vector<Placement> reads, const std::string& parameters,
                      const std::string& body, const std::string& sum, const char* algorithm,
                      std::int64_t flops) {
  if (epilogue.result.elements() == 0) return;
  const KernelText kernel = indexed_kernel(epilogue, parameters, body, sum);
  StepDraft draft = draft_with(epilogue, id, std::move(reads), flops);
  draft.algorithm = algorithm;
  lowering.add_kernel_step(draft, lowering.kernels().add(kernel.text), kernel.shape);
}

std::string parameter_text(const Placement& placement, const std::string& name) {
  return fmt::format("const {}* __restrict__ {}, ", stored_type(placement.type), name);
}

std::string element_text(const Placement& placement, const std::string& name,
                         const std::vector<std::string>& at) {
  return loaded(placement.type, fmt::format("{}[{}]", name, offset_text(placement, at)));
}

}  // namespace assay::cuda
