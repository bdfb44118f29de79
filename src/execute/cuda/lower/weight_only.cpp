// MatMulNBits: products with weights of 2, 4 or 8 bits, blocks of which share a scale. Few rows
// read the packed weights once, a warp for each column; many go through tiles.
#include <fmt/core.h>

#include "base/checked.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

struct PackedWeights {
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t bits = 4;
  std::int64_t block = 0;
  std::int64_t blocks = 0;     // of a column
  std::int64_t row_bytes = 0;  // of a column

  std::int64_t per_word() const { return 32 / bits; }
};

std::optional<PackedWeights> packed_weights_of(const Lowering& lowering, const Node& node) {
  PackedWeights packed{.columns = node.int_or("N", 0),
                       .depth = node.int_or("K", 0),
                       .bits = node.int_or("bits", 4),
                       .block = node.int_or("block_size", 0)};
  const bool is_known = packed.bits == 2 || packed.bits == 4 || packed.bits == 8;
  if (!is_known || packed.columns < 1 || packed.depth < 1 || packed.block < 1) return {};
  packed.blocks = (packed.depth - 1) / packed.block + 1;
  packed.row_bytes = packed.blocks * packed.block * packed.bits / 8;
  const auto has = [&](std::size_t input, std::int64_t count) {
    return checked_product(lowering.dims(node.inputs[input])) == count;
  };
  const bool fits = lowering.type(node.inputs[1]) == DataType::UInt8 &&
                    has(1, packed.columns * packed.row_bytes) &&
                    has(2, packed.columns * packed.blocks) && !node.has_input(4) &&
                    packed.block * packed.bits % 8 == 0;
  if (!fits) return {};
  return packed;
}

// The number at `at` of packed ones, an expression.
std::string unpacked_text(const std::string& bytes, const std::string& first, const std::string& at,
                          std::int64_t bits) {
  const std::int64_t in_byte = 8 / bits;
  return fmt::format("(({0}[{1} + ({2}) / {3}] >> (({2}) % {3} * {4})) & {5})", bytes, first, at,
                     in_byte, bits, (1 << bits) - 1);
}

// Factor and zero point of block `block` of `column`.
struct BlockTexts {
  std::string scale;
  std::string zero;
};

BlockTexts block_texts(Lowering& lowering, const Node& node, const PackedWeights& packed,
                       Operands& operands, const std::string& type, const std::string& block) {
  const std::string at = fmt::format("column * {} + {}", packed.blocks, block);
  const Placement scales = lowering.row_major(node.inputs[2]);
  BlockTexts texts{
      .scale = fmt::format(
          "({}){}", type, loaded(scales.type, fmt::format("{}[{}]", operands.pointer(scales), at))),
      .zero = std::to_string(1 << (packed.bits - 1))};
  if (!node.has_input(3)) return texts;
  const Placement zeros = lowering.row_major(node.inputs[3]);
  const std::string pointer = operands.pointer(zeros);
  const std::int64_t stride = (packed.blocks * packed.bits + 7) / 8;
  texts.zero =
      is_floating(zeros.type)
          ? fmt::format("({}){}", type, loaded(zeros.type, fmt::format("{}[{}]", pointer, at)))
          : unpacked_text(pointer, fmt::format("column * {}", stride), block, packed.bits);
  return texts;
}

// Sums of up to this many rows stay in registers.
constexpr std::int64_t kFewRows = 8;

// Each lane reads words of weights that lie side by side.
KernelText few_rows(const PackedWeights& packed, std::int64_t rows, const std::string& type,
                    const std::string& parameters, const std::string& weights,
                    const BlockTexts& block, const std::string& element, const std::string& store) {
  constexpr std::int64_t kColumns = 8;  // of a block
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}) {{
  const int lane = threadIdx.x % 32;
  const long long column = blockIdx.x * {columns_of_block}ll + threadIdx.x / 32;
  {type} sums[{rows}] = {{}};
  for (int first = lane * {per_word}; column < {columns} && first < {depth}; first += 32 * {per_word}) {{
    const unsigned word = *(const unsigned*)({weights} + column * {row_bytes} + first * {bits} / 8);
    const {type} scale = {scale}, zero = {zero};
    for (int i = 0; i < {per_word}; ++i) {{
      const int k = first + i;
      if (k >= {depth}) break;
      const {type} weight = (({type})(word >> (i * {bits}) & {mask}u) - zero) * scale;
      for (int row = 0; row < {rows}; ++row) sums[row] += {element} * weight;
    }}
  }}
  for (int row = 0; row < {rows}; ++row)
    for (int mask = 16; mask > 0; mask /= 2) sums[row] += __shfl_xor_sync(0xffffffffu, sums[row], mask);
  if (column >= {columns}) return;
  for (int row = 0; row < {rows}; ++row) {{
    if (lane != row) continue;
    const {type} sum = sums[row];
{store}  }}
}}
)",
      fmt::arg("parameters", parameters), fmt::arg("columns_of_block", kColumns),
      fmt::arg("type", type), fmt::arg("rows", rows), fmt::arg("per_word", packed.per_word()),
      fmt::arg("columns", packed.columns), fmt::arg("depth", packed.depth),
      fmt::arg("weights", weights), fmt::arg("row_bytes", packed.row_bytes),
      fmt::arg("bits", packed.bits), fmt::arg("scale", block.scale), fmt::arg("zero", block.zero),
      fmt::arg("mask", (1 << packed.bits) - 1), fmt::arg("element", element),
      fmt::arg("store", store));
  return {text,
          {.blocks = {static_cast<unsigned>((packed.columns + kColumns - 1) / kColumns), 1, 1},
           .threads = kBlockThreads}};
}

bool lower_weight_only_product(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto packed = packed_weights_of(lowering, node);
  if (!packed || !is_floating(lowering.type(node.inputs[0]))) return false;
  Placement a = lowering.row_major(node.inputs[0]);
  const std::int64_t rows = a.elements() / packed->depth;
  if (rows == 0 || a.dims.empty() || a.dims.back() != packed->depth) return false;
  Placement matrix = row_major_placement(a.type, {rows, packed->depth});
  matrix.buffer = a.buffer;
  matrix.offset = a.offset;
  const Epilogue epilogue = epilogue_of(lowering, id);
  // The rows of the result, whose leading axes they count.
  std::vector<std::string> at(epilogue.result.dims.size());
  std::string rest = "row";
  at.back() = "column";
  for (std::size_t axis = at.size() - 1; axis-- > 0;) {
    at[axis] = axis == 0 ? rest : remainder_text(rest, epilogue.result.dims[axis]);
    rest = "(" + quotient_text(rest, epilogue.result.dims[axis]) + ")";
  }
  Operands operands(lowering);
  const std::string type = computed_type(a.type);
  const std::string element = operands.element(matrix, std::vector<std::string>{"row", "k"});
  const std::string weights = operands.pointer(lowering.row_major(node.inputs[1]));
  std::string result = "sum";
  if (node.has_input(5))
    result += " + " +
              operands.element(broadcast(lowering.native(node.inputs[5]), {rows, packed->columns}),
                               std::vector<std::string>{"row", "column"});
  const bool has_words =
      packed->block % packed->per_word() == 0 && packed->row_bytes % 4 == 0 && rows <= kFewRows;
  const BlockTexts block =
      block_texts(lowering, node, *packed, operands, type,
                  fmt::format("{} / {}", has_words ? "first" : "k", packed->block));
  const std::string parameters = operands.parameters() + epilogue.parameters();
  const std::string store = epilogue.statements(result, at);
  const std::string byte =
      unpacked_text(weights, fmt::format("column * {}", packed->row_bytes), "k", packed->bits);
  const KernelText kernel =
      has_words ? few_rows(*packed, rows, type, parameters, weights, block, element, store)
                : tiled_kernel({.rows = rows,
                                .columns = packed->columns,
                                .depth = packed->depth,
                                .sum_type = type,
                                .parameters = parameters,
                                .load_a = fmt::format("    return {};\n", element),
                                .load_b = fmt::format("    return (({}){} - ({})) * {};\n", type,
                                                      byte, block.zero, block.scale),
                                .store = store});
  StepDraft draft =
      draft_with(epilogue, id, operands.reads(), 2 * rows * packed->columns * packed->depth);
  draft.algorithm = has_words ? "own few rows" : "own tiles";
  lowering.add_kernel_step(draft, lowering.kernels().add(kernel.text, true), kernel.shape);
  return true;
}

}  // namespace

void add_weight_only_lowering(LowerTable& table) {
  table["com.microsoft.MatMulNBits"] = lower_weight_only_product;
}

}  // namespace assay::cuda
