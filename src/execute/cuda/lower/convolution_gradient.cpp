// Gradients of convolutions, by cuDNN, cuBLASLt or kernels of our own. That of the input is a
// transposed convolution; that of the weight is a product over all windows, in parts that are added
// up afterwards where one alone would leave most of the GPU idle.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "execute/cuda/column_sums.h"
#include "execute/cuda/convolution_view.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_convolution.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/row_kernel.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

namespace {

bool is_convolution(const Dims& image, const Dims& weight) {
  return image.size() >= 3 && image.size() <= 5 && weight.size() == image.size() &&
         checked_product(image).value_or(0) > 0 && checked_product(weight).value_or(0) > 0;
}

kernels::WindowGrid grid_of(const Lowering& lowering, const Node& node, const Dims& image,
                            const Dims& weight) {
  const kernels::KernelCall call{node, {}, lowering.graph().opset()};
  return kernels::window_grid(call, std::span(image).subspan(2), std::span(weight).subspan(2));
}

void append(std::vector<Candidate>& candidates, std::vector<Candidate> more) {
  std::ranges::move(more, std::back_inserter(candidates));
}

// A convolution of one tap is a product over pixels and channels.
bool is_pixelwise(const kernels::WindowGrid& grid, std::int64_t groups) {
  const auto is_plain = [](const kernels::WindowAxis& axis) {
    return axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  return groups == 1 && grid.taps() == 1 && std::ranges::all_of(grid.axes, is_plain);
}

std::vector<Candidate> product_candidates(Lowering& lowering, const LibraryConvolution& convolution,
                                          const Epilogue& epilogue, const MatrixView& a,
                                          const MatrixView& b) {
  const LibraryProduct product{
      .main = convolution.main,
      .a = a,
      .b = b,
      .result = {.rows = a.matrix.rows, .columns = b.matrix.columns, .leading = b.matrix.columns},
      .result_like = convolution.result_like,
      .column_axis = 1};
  if (!can_multiply(product)) return {};
  return cublaslt_candidates(lowering, product, epilogue);
}

// Inputs: the gradient of the result, the weight.
bool lower_input_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  ConvolutionView view;
  view.result = lowering.dims(node.outputs[0]);
  const Dims weight = lowering.dims(node.inputs[1]);
  if (!is_floating(lowering.type(node.inputs[0])) || !is_convolution(view.result, weight))
    return false;
  view.grid = grid_of(lowering, node, view.result, weight);
  if (view.grid.output_elements() == 0) return false;
  view.is_transposed = true;
  view.batch = view.result[0];
  view.groups = node.int_or("group", 1);
  view.inputs = weight[0] / view.groups;
  view.outputs = weight[1];
  view.image = lowering.channels_last(node.inputs[0]);
  view.weight = lowering.channels_last(node.inputs[1]);
  const Epilogue epilogue = epilogue_of(lowering, id, channels_last_placement);
  Operands operands(lowering);
  operands.pointer(view.image);
  operands.pointer(view.weight);
  const ConvolutionTexts texts{
      .parameters = operands.parameters() + epilogue.parameters(),
      .sum_type = computed_type(view.image.type),
      .image = [&](const auto& at) { return operands.element(view.image, at); },
      .weight = [&](const auto& at) { return operands.element(view.weight, at); },
      .store = [&](const auto& at) { return epilogue.statements("sum", at); }};
  const ConvolutionKernel own = convolution_kernel(view, texts);
  const StepDraft draft = draft_with(epilogue, id, operands.reads(), view.flops());
  const LibraryConvolution library{
      .main = id,
      .grid = view.grid,
      .is_transposed = true,
      .image = view.image,
      .weight = view.weight,
      .result_like = channels_last_placement(lowering.type(node.outputs[0]), view.result)};
  std::vector<Candidate> candidates = {
      own_candidate(lowering, name_of(own), own.kernel, own.is_tiled, draft)};
  if (is_pixelwise(view.grid, view.groups)) {
    const std::int64_t pixels = view.batch * view.grid.output_elements();
    append(candidates,
           product_candidates(lowering, library, epilogue,
                              {view.image, {pixels, view.inputs, view.inputs}},
                              {view.weight, {view.inputs, view.outputs, view.outputs}}));
  }
  append(candidates, cudnn_candidates(lowering, library, epilogue));
  lowering.add_contest(draft, question_of(library) + following(lowering, epilogue),
                       std::move(candidates));
  return true;
}

// Sums over everything but the channel.
Rows channels_over(const Dims& dims) {
  std::vector<std::size_t> reduced;
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (axis != 1) reduced.push_back(axis);
  return rows_over(dims, reduced);
}

struct WeightGradient {
  Placement image;
  Placement gradient;
  Placement result;
  kernels::WindowGrid grid;
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   // channels of a group
  std::int64_t outputs = 0;  // channels of a group
  std::int64_t depth = 0;    // windows of all samples
  std::int64_t parts = 1;
  std::int64_t part_depth = 0;

  std::int64_t columns() const { return grid.taps() * inputs; }
};

// As many parts as fill the GPU, but not so many that a part is short.
void choose_parts(WeightGradient& what, std::int64_t multiprocessors) {
  constexpr std::int64_t kTile = 64;
  constexpr std::int64_t kShortest = 256;
  const auto tiles = [](std::int64_t length) { return (length + kTile - 1) / kTile; };
  const std::int64_t blocks = what.groups * tiles(what.outputs) * tiles(what.columns());
  const std::int64_t wanted = (2 * multiprocessors + blocks - 1) / blocks;
  const std::int64_t most = std::max<std::int64_t>(what.depth / kShortest, 1);
  constexpr std::int64_t kMostBatches = std::numeric_limits<std::uint16_t>::max();
  what.parts = std::clamp<std::int64_t>(wanted, 1, std::min(most, kMostBatches / what.groups));
  what.part_depth = (what.depth + what.parts - 1) / what.parts;
}

KernelText product_of(const WeightGradient& what, const Placement& sums) {
  const std::string window = "(part * " + std::to_string(what.part_depth) + " + k)";
  const std::int64_t pixels = what.grid.output_elements();
  const std::string head =
      fmt::format("    const long long part = z / {}, group = z % {};\n", what.groups, what.groups);
  const std::string place = fmt::format(
      "    const long long window = {};\n    if (window >= {}) return 0;\n", window, what.depth);
  const std::string pixel = pixels_text(what.grid, fmt::format("window % {}", pixels));
  const std::string sample = fmt::format("window / {}", pixels);
  const auto read = [](const Placement& from, const char* name,
                       const std::vector<std::string>& at) {
    return loaded(from.type, fmt::format("{}[{}]", name, offset_text(from, at)));
  };
  const std::string gradient = read(
      what.gradient, "gradient",
      image_coordinates(what.grid, sample, fmt::format("group * {} + row", what.outputs), "out"));
  const std::string image =
      read(what.image, "image",
           image_coordinates(what.grid, sample,
                             fmt::format("group * {0} + column % {0}", what.inputs), "in"));
  const std::string type = computed_type(what.image.type);
  return tiled_kernel(
      {.batches = what.groups * what.parts,
       .rows = what.outputs,
       .columns = what.columns(),
       .depth = what.part_depth,
       .sum_type = type,
       .parameters =
           fmt::format("const {}* __restrict__ image, const {}* __restrict__ gradient, "
                       "{}* __restrict__ out",
                       stored_type(what.image.type), stored_type(what.gradient.type), type),
       .load_a = head + place + pixel + fmt::format("    return {};\n", gradient),
       .load_b = head + place + pixel +
                 taps_text(what.grid, fmt::format("column / {}", what.inputs)) +
                 positions_text(what.grid) +
                 fmt::format("    return {} ? {} : 0;\n", inside_text(what.grid), image),
       .store = fmt::format("  out[{}] = sum;\n",
                            offset_text(sums, std::vector<std::string>{"z", "row", "column"}))});
}

// Adds the parts up, and puts the numbers where they belong.
KernelText sum_of_parts(const WeightGradient& what, const Placement& sums) {
  const std::string group = fmt::format("i0 / {}", what.outputs);
  const std::vector<std::string> names = index_names(what.result.dims);
  std::string tap = "0";
  for (std::size_t axis = 2; axis < names.size(); ++axis)
    tap = fmt::format("({} * {} + {})", tap, what.result.dims[axis], names[axis]);
  const std::vector<std::string> at = {fmt::format("part * {} + {}", what.groups, group),
                                       fmt::format("i0 % {}", what.outputs),
                                       fmt::format("{} * {} + i1", tap, what.inputs)};
  const std::string type = computed_type(what.image.type);
  Epilogue epilogue;
  epilogue.result = what.result;
  const std::string body =
      fmt::format("  {} sum = 0;\n  for (int part = 0; part < {}; ++part) sum += parts[{}];\n",
                  type, what.parts, offset_text(sums, at));
  return indexed_kernel(epilogue, fmt::format("const {}* __restrict__ parts, ", type), body, "sum");
}

// Sums of the gradient by channel, which are those of the bias.
void add_bias_gradient(Lowering& lowering, NodeId id, const Placement& gradient) {
  const ValueId bias = lowering.node(id).outputs[1];
  const Placement result = lowering.new_row_major(bias);
  lowering.set_placement(bias, result);
  const Rows rows = channels_over(gradient.dims);
  Operands adding(lowering);
  const std::string value = adding.element(gradient, index_names(gradient.dims));
  const ColumnSums sums{.rows = rows,
                        .are_columns_adjacent = are_columns_adjacent(gradient, rows),
                        .type = computed_type(gradient.type),
                        .add = fmt::format("      sum0 += {};\n", value),
                        .finish = fmt::format("  out0[i1] = {};\n", stored(result.type, "sum0"))};
  StepDraft draft{.nodes = {id},
                  .algorithm = "own column sums",
                  .executed_flops = gradient.elements(),
                  .reads = {gradient},
                  .writes = {result}};
  const auto calls = column_sum_calls(lowering, sums, adding, Operands(lowering), {result}, draft);
  lowering.add_step(draft, binder_of(calls));
}

// The product over all windows, then the sum of its parts.
Candidate tiles_candidate(Lowering& lowering, const WeightGradient& what) {
  const DataType type =
      what.image.type == DataType::Float64 ? DataType::Float64 : DataType::Float32;
  const Placement sums = lowering.in_new_buffer(
      row_major_placement(type, {what.parts * what.groups, what.outputs, what.columns()}));
  const KernelText product = product_of(what, sums);
  const KernelText sum = sum_of_parts(what, sums);
  auto calls = std::make_shared<std::vector<KernelCall>>(std::vector<KernelCall>{
      {0, product.shape, {what.image, what.gradient, sums}}, {0, sum.shape, {sums, what.result}}});
  return {.name = "own tiles",
          .key = fmt::format("own tiles of {}", what.parts),
          .add_kernels =
              [&lowering, calls, product = product.text, sum = sum.text] {
                (*calls)[0].kernel = lowering.kernels().add(product, true);
                (*calls)[1].kernel = lowering.kernels().add(sum);
              },
          .prepare =
              [calls, buffer = sums.buffer] {
                return Prepared{.bind = binder_of(*calls), .workspace = {buffer}};
              }};
}

// One channel of the image for each filter: for each tap a sum of products by channel.
bool is_depthwise(const WeightGradient& what) {
  constexpr std::int64_t kMostTaps = 32;  // sums of a thread
  return what.inputs == 1 && what.outputs == 1 && what.grid.taps() <= kMostTaps;
}

Candidate column_candidate(Lowering& lowering, const WeightGradient& what) {
  const Rows rows = channels_over(what.gradient.dims);
  Operands adding(lowering);
  const auto at = index_names(what.gradient.dims);
  const std::string type = computed_type(what.image.type);
  std::string out;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t unused = 3 - what.grid.rank;
    out += fmt::format("      const int out{} = {};\n", i,
                       i < unused ? "0" : fmt::format("i{}", i - unused + 2));
  }
  ColumnSums sums{
      .rows = rows,
      .are_columns_adjacent = are_columns_adjacent(what.gradient, rows),
      .type = type,
      .count = static_cast<std::size_t>(what.grid.taps()),
      .add = out + fmt::format("      const {} g = {};\n", type, adding.element(what.gradient, at)),
      .finish = ""};
  const std::string pixel =
      adding.element(what.image, image_coordinates(what.grid, "i0", "i1", "in"));
  for (std::int64_t tap = 0; tap < what.grid.taps(); ++tap) {
    sums.add += fmt::format("      {{\n{}{}      if ({}) sum{} += g * {};\n      }}\n",
                            taps_text(what.grid, std::to_string(tap)), positions_text(what.grid),
                            inside_text(what.grid), tap, pixel);
    sums.finish += fmt::format("  out0[i1 * {} + {}] = {};\n", what.grid.taps(), tap,
                               stored(what.result.type, fmt::format("sum{}", tap)));
  }
  StepDraft parts;
  const auto calls =
      column_sum_calls(lowering, sums, adding, Operands(lowering), {what.result}, parts);
  return {.name = "own column sums",
          .key = "own column sums",
          .prepare = [calls, workspace = parts.workspace] {
            return Prepared{.bind = binder_of(calls), .workspace = workspace};
          }};
}

// Inputs: the image, the gradient of the result.
bool lower_weight_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims image = lowering.dims(node.inputs[0]);
  const Dims weight = lowering.dims(node.outputs[0]);
  if (!is_floating(lowering.type(node.inputs[0])) || !is_convolution(image, weight)) return false;
  WeightGradient what;
  what.grid = grid_of(lowering, node, image, weight);
  what.groups = node.int_or("group", 1);
  what.inputs = weight[1];
  what.outputs = weight[0] / what.groups;
  what.depth = image[0] * what.grid.output_elements();
  constexpr std::int64_t kMostGroups = std::numeric_limits<std::uint16_t>::max();
  if (what.depth == 0 || what.groups > kMostGroups) return false;
  choose_parts(what, lowering.device().facts().multiprocessors);
  what.image = lowering.channels_last(node.inputs[0]);
  what.gradient = lowering.channels_last(node.inputs[1]);
  what.result = lowering.new_channels_last(node.outputs[0]);
  lowering.set_placement(node.outputs[0], what.result);
  const StepDraft draft{
      .nodes = {id},
      .executed_flops = 2 * what.depth * what.groups * what.outputs * what.columns(),
      .reads = {what.image, what.gradient},
      .writes = {what.result}};
  Placement like = what.result;
  like.buffer = {};
  const LibraryConvolution library{.main = id,
                                   .grid = what.grid,
                                   .is_weight_gradient = true,
                                   .image = what.image,
                                   .weight = what.gradient,
                                   .result_like = like};
  const Epilogue epilogue{.chain = {}, .text = {}, .result = what.result};
  std::vector<Candidate> candidates = {is_depthwise(what) ? column_candidate(lowering, what)
                                                          : tiles_candidate(lowering, what)};
  if (is_pixelwise(what.grid, what.groups)) {
    append(candidates,
           product_candidates(lowering, library, epilogue,
                              {what.gradient, {what.outputs, what.depth, what.outputs, 0, true}},
                              {what.image, {what.depth, what.inputs, what.inputs}}));
  }
  append(candidates, cudnn_candidates(lowering, library, epilogue));
  lowering.add_contest(draft, question_of(library) + following(lowering, epilogue),
                       std::move(candidates));
  if (node.has_output(1)) add_bias_gradient(lowering, id, what.gradient);
  return true;
}

}  // namespace

void add_convolution_gradient_lowering(LowerTable& table) {
  table["assay.ConvInputGradient"] = lower_input_gradient;
  table["assay.ConvWeightGradient"] = lower_weight_gradient;
}

}  // namespace assay::cuda
