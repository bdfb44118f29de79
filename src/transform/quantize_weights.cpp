#include "assay/quantize_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "base/fail.h"

namespace assay {

namespace {

constexpr const char* kMicrosoftDomain = "com.microsoft";

// A matrix [k, n] on the right of a product; stored [n, k] if transposed.
struct FloatMatrix {
  Tensor values;
  bool is_transposed = false;
  std::int64_t k = 0;
  std::int64_t n = 0;
  bool has_other_readers = false;  // which may read its bytes where they are stored
};

void check_settings(const WeightQuantization& how) {
  if (how.bits != 4 && how.bits != 8)
    fail_usage("weights of {} bits are not supported; choose 4 or 8", how.bits);
  const bool is_power =
      how.block >= 16 && std::has_single_bit(static_cast<std::uint64_t>(how.block));
  if (!is_power)
    fail_usage("blocks of {} weights are not supported; choose a power of two from 16 on",
               how.block);
}

// What one block of a column is stored with.
struct BlockCode {
  float scale = 1;
  int zero_point = 0;

  std::uint8_t code(float value, int largest) const {
    const float steps = std::nearbyint(value / scale) + static_cast<float>(zero_point);
    return static_cast<std::uint8_t>(std::clamp(steps, 0.0f, static_cast<float>(largest)));
  }
};

// Symmetric: the number of largest magnitude gets the code 0, the end of the range that has one
// code more than the other.
BlockCode symmetric_code(float least, float greatest, int bits) {
  const int middle = 1 << (bits - 1);
  const float extreme = greatest > -least ? greatest : least;
  return {extreme == 0 ? 1.0f : extreme / static_cast<float>(-middle), middle};
}

BlockCode asymmetric_code(float least, float greatest, int bits) {
  const auto largest = static_cast<float>((1 << bits) - 1);
  const float low = std::min(least, 0.0f);
  const float range = std::max(greatest, 0.0f) - low;
  if (range == 0) return {1.0f, 0};
  const float scale = range / largest;
  return {scale, static_cast<int>(std::clamp(std::nearbyint(-low / scale), 0.0f, largest))};
}

class WeightCoder {
 public:
  WeightCoder(FloatMatrix matrix, const WeightQuantization& how)
      : matrix_(std::move(matrix)), how_(how), blocks_((matrix_.k + how.block - 1) / how.block) {}

  Tensor codes() const {
    const std::int64_t bytes = blocks_ * how_.block * how_.bits / 8;
    return generated(DataType::UInt8, {matrix_.n, blocks_, how_.block * how_.bits / 8},
                     matrix_.n * bytes, [](const WeightCoder& coder, std::span<std::byte> out) {
                       coder.write_codes(reinterpret_cast<std::uint8_t*>(out.data()));
                     });
  }

  Tensor scales() const {
    return generated(DataType::Float32, {matrix_.n * blocks_}, matrix_.n * blocks_ * 4,
                     [](const WeightCoder& coder, std::span<std::byte> out) {
                       auto* floats = reinterpret_cast<float*>(out.data());
                       for (const BlockCode& block : coder.block_codes()) *floats++ = block.scale;
                     });
  }

  Tensor zero_points() const {
    return generated(DataType::UInt8, {matrix_.n * zero_point_bytes()},
                     matrix_.n * zero_point_bytes(),
                     [](const WeightCoder& coder, std::span<std::byte> out) {
                       coder.write_zero_points(reinterpret_cast<std::uint8_t*>(out.data()));
                     });
  }

 private:
  template <typename Write>
  Tensor generated(DataType type, std::vector<std::int64_t> dims, std::int64_t bytes,
                   Write write) const {
    return Tensor(type, std::move(dims),
                  generated_storage(static_cast<std::size_t>(bytes),
                                    [coder = *this, write](std::span<std::byte> out) {
                                      write(coder, out);
                                      coder.release_floats();
                                    }));
  }

  void release_floats() const {
    if (!matrix_.has_other_readers) matrix_.values.release();
  }

  std::int64_t zero_point_bytes() const { return (blocks_ * how_.bits + 7) / 8; }  // of a column
  std::size_t position(std::int64_t k, std::int64_t column) const {
    return static_cast<std::size_t>(matrix_.is_transposed ? column * matrix_.k + k
                                                          : k * matrix_.n + column);
  }

  // `visit(k, column, value)`, in the order of memory.
  template <typename Visit>
  void for_each_weight(const Visit& visit) const {
    const std::span<const std::byte> bytes = matrix_.values.bytes();
    const auto at = [&](std::int64_t k, std::int64_t column) {
      float value = 0;
      std::memcpy(&value, bytes.data() + position(k, column) * sizeof(float), sizeof(float));
      return value;
    };
    const bool by_column = matrix_.is_transposed;
    for (std::int64_t i = 0; i < (by_column ? matrix_.n : matrix_.k); ++i) {
      for (std::int64_t j = 0; j < (by_column ? matrix_.k : matrix_.n); ++j) {
        const std::int64_t k = by_column ? j : i;
        const std::int64_t column = by_column ? i : j;
        visit(k, column, at(k, column));
      }
    }
  }

  std::size_t block_of(std::int64_t k, std::int64_t column) const {
    return static_cast<std::size_t>(column * blocks_ + k / how_.block);
  }

  std::vector<BlockCode> block_codes() const {
    const auto count = static_cast<std::size_t>(matrix_.n * blocks_);
    std::vector<float> least(count, 0), greatest(count, 0);
    for_each_weight([&](std::int64_t k, std::int64_t column, float value) {
      const std::size_t block = block_of(k, column);
      least[block] = std::min(least[block], value);
      greatest[block] = std::max(greatest[block], value);
    });
    std::vector<BlockCode> codes(count);
    for (std::size_t i = 0; i < count; ++i)
      codes[i] =
          (how_.symmetric ? symmetric_code : asymmetric_code)(least[i], greatest[i], how_.bits);
    return codes;
  }

  void write_codes(std::uint8_t* out) const {
    const auto blocks = block_codes();
    const int largest = (1 << how_.bits) - 1;
    const std::int64_t column_bytes = blocks_ * how_.block * how_.bits / 8;
    for_each_weight([&](std::int64_t k, std::int64_t column, float value) {
      put(out + column * column_bytes, k, blocks[block_of(k, column)].code(value, largest));
    });
  }

  void write_zero_points(std::uint8_t* out) const {
    const auto blocks = block_codes();
    for (std::int64_t column = 0; column < matrix_.n; ++column) {
      for (std::int64_t b = 0; b < blocks_; ++b)
        put(out + column * zero_point_bytes(), b,
            static_cast<std::uint8_t>(
                blocks[static_cast<std::size_t>(column * blocks_ + b)].zero_point));
    }
  }

  // Of two 4-bit codes in a byte, the first is the lower one.
  void put(std::uint8_t* packed, std::int64_t at, std::uint8_t code) const {
    if (how_.bits == 8)
      packed[at] = code;
    else
      packed[at / 2] = static_cast<std::uint8_t>(packed[at / 2] | (code << (at % 2 * 4)));
  }

  FloatMatrix matrix_;
  WeightQuantization how_;
  std::int64_t blocks_ = 0;
};

class WeightQuantizer {
 public:
  WeightQuantizer(const Graph& graph, const WeightQuantization& how)
      : old_(graph), how_(how), readers_(consumers(graph)) {
    for (const Value& value : graph.values()) names_.insert(value.name);
  }

  QuantizedWeights run() && {
    result_.graph = old_.declarations();
    std::vector<Node> nodes;
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) nodes.push_back(rewritten(NodeId{i}));
    const std::vector<bool> lives = nodes_in_use(nodes);
    add_initializers();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (lives[i]) result_.graph.add_node(std::move(nodes[i]));
    }
    if (!result_.layers.empty()) result_.graph.opsets.emplace(kMicrosoftDomain, 1);
    return std::move(result_);
  }

 private:
  const Tensor* float_matrix(ValueId id) const {
    const Tensor* tensor = id.is_valid() ? old_.initializer(id) : nullptr;
    const bool is_input = std::ranges::find(old_.inputs(), id) != old_.inputs().end();
    if (tensor == nullptr || is_input || tensor->type() != DataType::Float32) return nullptr;
    return tensor->dims().size() == 2 && tensor->elements() > 0 ? tensor : nullptr;
  }

  std::optional<FloatMatrix> right_matrix(const Node& node) const {
    bool is_transposed = node.is("Gemm") && node.int_or("transB", 0) != 0;
    ValueId stored = node.inputs[1];
    const Tensor* values = float_matrix(stored);
    if (const NodeId maker = old_.producer(node.inputs[1]); maker.is_valid()) {
      const Node& turn = old_.node(maker);
      const std::vector<std::int64_t> reversed = {1, 0};
      if (!turn.is("Transpose") || turn.ints_or("perm", reversed) != reversed) return {};
      stored = turn.inputs[0];
      values = float_matrix(stored);
      is_transposed = !is_transposed;
    }
    if (values == nullptr) return {};
    const auto& dims = values->dims();
    return FloatMatrix{*values, is_transposed, dims[is_transposed ? 1 : 0],
                       dims[is_transposed ? 0 : 1], readers_[stored.number].size() > 1};
  }

  bool is_plain_gemm(const Node& node, std::int64_t n) const {
    if (node.int_or("transA", 0) != 0 || node.float_or("alpha", 1) != 1.0f) return false;
    if (!node.has_input(2)) return true;
    const Tensor* bias = old_.initializer(node.inputs[2]);
    return node.float_or("beta", 1) == 1.0f && bias != nullptr &&
           bias->dims() == std::vector<std::int64_t>{n};
  }

  Node rewritten(NodeId id) {
    const Node& node = old_.node(id);
    const bool is_product = (node.is("MatMul") || node.is("Gemm")) && node.has_input(1);
    const auto matrix = is_product ? right_matrix(node) : std::nullopt;
    if (!matrix || (node.is("Gemm") && !is_plain_gemm(node, matrix->n))) return node;
    result_.layers.push_back(old_.display_name(id));
    return coded(node, old_.display_name(id), *matrix);
  }

  Node coded(const Node& node, const std::string& name, const FloatMatrix& matrix) {
    const WeightCoder coder(matrix, how_);
    Node product{.name = node.name,
                 .op = "MatMulNBits",
                 .domain = kMicrosoftDomain,
                 .inputs = {node.inputs[0], constant(name + ".codes", coder.codes()),
                            constant(name + ".scales", coder.scales())},
                 .outputs = node.outputs};
    if (!how_.symmetric)
      product.inputs.push_back(constant(name + ".zero_points", coder.zero_points()));
    if (node.is("Gemm") && node.has_input(2)) {
      product.inputs.resize(5);
      product.inputs.push_back(node.inputs[2]);
    }
    product.set("K", matrix.k);
    product.set("N", matrix.n);
    product.set("bits", std::int64_t{how_.bits});
    product.set("block_size", how_.block);
    return product;
  }

  ValueId constant(std::string name, Tensor tensor) {
    while (!names_.insert(name).second) name += "_";
    const ValueId id =
        result_.graph.add_value(std::move(name), tensor_type(tensor.type(), tensor.shape()));
    added_.push_back({id, std::move(tensor)});
    return id;
  }

  void mark_reads(const Node& node) {
    for (const ValueId input : node.inputs) {
      if (input.is_valid()) is_read_[input.number] = true;
    }
    for_each_subgraph(node, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) is_read_[capture.outer.number] = true;
    });
  }

  // Without transposes that nothing reads any more; whatever was unread before stays.
  std::vector<bool> nodes_in_use(const std::vector<Node>& nodes) {
    is_read_.assign(result_.graph.value_count(), false);
    for (const ValueId output : old_.outputs()) is_read_[output.number] = true;
    std::vector<bool> lives(nodes.size(), true);
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (nodes[i].is("Transpose") && !is_read_[nodes[i].outputs[0].number])
        lives[i] = false;
      else
        mark_reads(nodes[i]);
    }
    return lives;
  }

  void add_initializers() {
    std::vector<bool> was_read(old_.value_count(), false);
    for (const Node& node : old_.nodes()) {
      for (const ValueId input : node.inputs) {
        if (input.is_valid()) was_read[input.number] = true;
      }
    }
    for (const auto& [value, tensor] : old_.initializers()) {
      if (is_read_[value.number] || !was_read[value.number])
        result_.graph.add_initializer(value, tensor);
    }
    for (auto& [value, tensor] : added_) result_.graph.add_initializer(value, tensor);
  }

  const Graph& old_;
  WeightQuantization how_;
  std::vector<std::vector<NodeId>> readers_;  // by value
  std::unordered_set<std::string> names_;
  std::vector<Initializer> added_;
  std::vector<bool> is_read_;  // by value of the new graph
  QuantizedWeights result_;
};

}  // namespace

QuantizedWeights quantize_weights(const Graph& graph, const WeightQuantization& how) {
  check_settings(how);
  return WeightQuantizer(graph, how).run();
}

}  // namespace assay
