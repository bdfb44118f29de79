#include "execute/cuda/library_product.h"

#include <fmt/core.h>

#include <memory>

#include "assay/error.h"
#include "execute/cuda/log.h"
#include "execute/cuda/lowering.h"

namespace assay::cuda {

namespace {

constexpr int kMostChoices = 16;

gpu::ProductActivation activation_of(TailActivation activation) {
  switch (activation) {
    case TailActivation::Relu:
      return gpu::ProductActivation::Relu;
    case TailActivation::GeluTanh:
      return gpu::ProductActivation::GeluTanh;
    default:
      return gpu::ProductActivation::None;
  }
}

// How cuBLASLt computes a product, and where its operands are.
struct ProductForm {
  gpu::Product product;
  Placement a;
  Placement b;
  std::optional<Placement> added;
  std::optional<Placement> bias;
  std::shared_ptr<Remainder> remainder;
};

gpu::Matrix aligned(const MatrixView& view) {
  gpu::Matrix matrix = view.matrix;
  matrix.alignment = static_cast<std::uint32_t>(alignment_of(view.at, 256));
  return matrix;
}

ProductForm form_of(Lowering& lowering, const LibraryProduct& wanted, const Epilogue& epilogue,
                    const Tail& tail) {
  ProductForm form{.product = {},
                   .a = wanted.a.at,
                   .b = wanted.b.at,
                   .added = tail.added,
                   .bias = tail.bias,
                   .remainder = {}};
  if (wanted.bias) form.bias = wanted.bias;
  form.product = {.type = *number_type(wanted.a.at.type),
                  .math = float32_math(lowering),
                  .batches = wanted.batches,
                  .a = aligned(wanted.a),
                  .b = aligned(wanted.b),
                  .result = wanted.result,
                  .added = {},
                  .alpha = wanted.alpha,
                  .has_bias = form.bias.has_value(),
                  .activation = activation_of(tail.activation)};
  if (form.bias)
    form.product.bias_alignment = static_cast<std::uint32_t>(alignment_of(*form.bias, 256));
  if (form.added) {
    form.product.added = wanted.result;
    form.product.added->alignment = static_cast<std::uint32_t>(alignment_of(*form.added, 256));
  }
  form.remainder =
      std::make_shared<Remainder>(lowering, epilogue, tail, wanted.result_like, wanted.other_added);
  return form;
}

Candidate candidate_of(Lowering& lowering, const ProductForm& form,
                       const std::shared_ptr<const gpu::CublasLtProduct>& product,
                       const gpu::ProductChoice& choice) {
  const bool has_kernel = !form.remainder->is_empty();
  const auto bind = [form, product, choice](const Addresses& at, BufferId workspace) -> Runner {
    const auto address = [&](const std::optional<Placement>& placement) {
      return placement ? at.of(*placement) : 0;
    };
    return product->bind(choice, {.a = at.of(form.a),
                                  .b = at.of(form.b),
                                  .added = address(form.added),
                                  .bias = address(form.bias),
                                  .result = at.of(form.remainder->library_result()),
                                  .workspace = at.start(workspace)});
  };
  return {.name = choice.name + (has_kernel ? " + element-wise" : ""),
          .key = choice.key + (has_kernel ? " + element-wise" : ""),
          .precision = library_precision(lowering, form.a.type),
          .is_library = true,
          .add_kernels = [remainder = form.remainder] { remainder->add_kernel(); },
          .prepare = [&lowering, remainder = form.remainder, bytes = choice.workspace_bytes,
                      bind] { return prepared_with(remainder, bytes, lowering, bind); }};
}

}  // namespace

std::vector<Candidate> cublaslt_candidates(Lowering& lowering, const LibraryProduct& wanted,
                                           const Epilogue& epilogue) {
  std::vector<Candidate> candidates;
  const auto handle = lowering.libraries().cublaslt();
  if (handle == nullptr || !number_type(wanted.a.at.type)) return candidates;
  TailRules rules{.bias_axis = wanted.column_axis,
                  .takes_bias = !wanted.bias,
                  .activations = {TailActivation::Relu, TailActivation::GeluTanh}};
  Tail tail{.value = epilogue.chain.start};
  if (!wanted.other_added) tail = tail_of(lowering, epilogue.chain, rules, wanted.result_like);
  const ProductForm form = form_of(lowering, wanted, epilogue, tail);
  try {
    const auto product = std::make_shared<const gpu::CublasLtProduct>(handle, form.product);
    for (const gpu::ProductChoice& choice : product->choices(kMostChoices))
      candidates.push_back(candidate_of(lowering, form, product, choice));
  } catch (const Error& error) {
    log_line(fmt::format("{}: {}", lowering.graph().display_name(wanted.main), error.what()));
  }
  return candidates;
}

bool can_multiply(const LibraryProduct& product) {
  const DataType type = product.result_like.type;
  const auto fits = [&](const std::optional<Placement>& placement) {
    return !placement || placement->type == type;
  };
  return number_type(type) && product.a.at.type == type && product.b.at.type == type &&
         fits(product.bias);
}

std::string following(const Lowering& lowering, const Epilogue& epilogue) {
  std::string text = lowering.options().cuda.tf32 ? " tf32" : "";
  for (const NodeId id : epilogue.chain.nodes) text += " " + lowering.node(id).op;
  return text;
}

std::optional<gpu::NumberType> number_type(DataType type) {
  switch (type) {
    case DataType::Float32:
      return gpu::NumberType::Float32;
    case DataType::Float64:
      return gpu::NumberType::Float64;
    case DataType::Float16:
      return gpu::NumberType::Float16;
    case DataType::BFloat16:
      return gpu::NumberType::BFloat16;
    default:
      return {};
  }
}

gpu::Float32Math float32_math(const Lowering& lowering) {
  return lowering.options().cuda.tf32 ? gpu::Float32Math::Tf32 : gpu::Float32Math::Real;
}

std::string library_precision(const Lowering& lowering, DataType type) {
  return type == DataType::Float32 && lowering.options().cuda.tf32 ? "tf32" : "";
}

Candidate own_candidate(Lowering& lowering, const std::string& name, const KernelText& kernel,
                        bool threads_cooperate, const StepDraft& draft,
                        const std::vector<Placement>& others, std::int64_t workspace_bytes) {
  auto call = std::make_shared<KernelCall>(
      KernelCall{.kernel = 0, .shape = kernel.shape, .arguments = draft.reads});
  call->arguments.insert(call->arguments.end(), draft.writes.begin(), draft.writes.end());
  call->arguments.insert(call->arguments.end(), others.begin(), others.end());
  return {.name = name,
          .key = fmt::format("{} {:x}", name, std::hash<std::string>{}(kernel.text)),
          .add_kernels =
              [&lowering, call, text = kernel.text, threads_cooperate] {
                call->kernel = lowering.kernels().add(text, threads_cooperate);
              },
          .prepare =
              [&lowering, call, workspace_bytes] {
                if (workspace_bytes == 0) return Prepared{.bind = binder_of(*call)};
                const BufferId workspace = lowering.new_buffer(workspace_bytes);
                KernelCall whole = *call;
                whole.arguments.push_back({.buffer = workspace, .dims = {}, .strides = {}});
                return Prepared{.bind = binder_of(whole), .workspace = {workspace}};
              }};
}

Prepared prepared_with(const std::shared_ptr<Remainder>& remainder, std::int64_t workspace_bytes,
                       Lowering& lowering,
                       std::function<Runner(const Addresses&, BufferId workspace)> bind) {
  Prepared prepared{.workspace = remainder->workspace()};
  BufferId workspace;
  if (workspace_bytes > 0) {
    workspace = lowering.new_buffer(workspace_bytes);
    prepared.workspace.push_back(workspace);
  }
  prepared.bind = [remainder, bind = std::move(bind), workspace](const Addresses& at) -> Runner {
    Runner library = bind(at, workspace);
    Runner rest = remainder->bind(at);
    if (!rest) return library;
    return [library, rest](const gpu::Stream& stream) {
      library(stream);
      rest(stream);
    };
  };
  return prepared;
}

}  // namespace assay::cuda
