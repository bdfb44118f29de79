// Products with matrices of 4- and 8-bit codes, compared with the plain product of what the codes
// stand for.
#include <gmock/gmock.h>

#include <random>

#include "assay/builder.h"
#include "assay/program.h"
#include "execute/compare_engines.h"
#include "execute/cpu/simd/simd.h"

namespace assay {
namespace {

enum class ZeroPoints { None, Packed, Floats };

struct WeightCase {
  std::int64_t m = 1, k = 64, n = 32;
  std::int64_t bits = 4, block = 32;
  ZeroPoints zero_points = ZeroPoints::None;

  std::int64_t blocks() const { return (k + block - 1) / block; }
};

// Codes, scales and zero points drawn at random, and the floats that they stand for.
struct Coded {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
  std::vector<std::uint8_t> packed_zero_points;
  std::vector<float> zero_points;
  std::vector<float> floats;  // [k, n]
};

void put(std::vector<std::uint8_t>& packed, std::int64_t at, std::int64_t bits, unsigned code) {
  if (bits == 8)
    packed[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(code);
  else
    packed[static_cast<std::size_t>(at / 2)] |= static_cast<std::uint8_t>(code << (at % 2 * 4));
}

Coded coded(const WeightCase& what) {
  std::mt19937 random(7);
  const unsigned codes = 1u << what.bits;
  const auto draw = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  Coded all;
  const std::int64_t column_bytes = what.blocks() * what.block * what.bits / 8;
  const std::int64_t zero_bytes = (what.blocks() * what.bits + 7) / 8;
  all.codes.resize(static_cast<std::size_t>(what.n * column_bytes));
  all.packed_zero_points.resize(static_cast<std::size_t>(what.n * zero_bytes));
  all.floats.resize(static_cast<std::size_t>(what.k * what.n));
  for (std::int64_t column = 0; column < what.n; ++column) {
    for (std::int64_t b = 0; b < what.blocks(); ++b) {
      const float scale = 0.01f * static_cast<float>(1 + random() % 9);
      const unsigned zero = what.zero_points == ZeroPoints::None ? codes / 2 : draw(codes);
      all.scales.push_back(scale);
      all.zero_points.push_back(static_cast<float>(zero));
      put(all.packed_zero_points, column * zero_bytes * 8 / what.bits + b, what.bits, zero);
      for (std::int64_t i = 0; i < what.block; ++i) {
        const unsigned code = draw(codes);
        const std::int64_t row = b * what.block + i;
        put(all.codes, column * what.blocks() * what.block + row, what.bits, code);
        if (row < what.k)
          all.floats[static_cast<std::size_t>(row * what.n + column)] =
              (static_cast<float>(code) - static_cast<float>(zero)) * scale;
      }
    }
  }
  return all;
}

std::vector<float> some_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> floats;
  for (std::int64_t i = 0; i < count; ++i)
    floats.push_back(static_cast<float>(random() % 2001) * 1e-3f - 1.0f);
  return floats;
}

// relu(x · W + bias) + x2, with W as codes or as floats.
Graph product_graph(const WeightCase& what, bool has_codes, bool is_fused) {
  const Coded all = coded(what);
  GraphBuilder builder("product");
  const ValueId x = builder.input("x", DataType::Float32, Shape{what.m, what.k});
  const ValueId more = builder.input("more", DataType::Float32, Shape{what.m, what.n});
  ValueId product;
  const ValueId bias = builder.constant("bias", Tensor::of_float({what.n}, some_floats(what.n, 3)));
  if (has_codes) {
    const auto bytes = [&](const std::string& name, std::vector<std::int64_t> dims,
                           const std::vector<std::uint8_t>& values) {
      return builder.constant(name, Tensor::of<std::uint8_t>(DataType::UInt8, dims, values));
    };
    std::vector<ValueId> inputs = {
        x, bytes("codes", {what.n, what.blocks(), what.block * what.bits / 8}, all.codes),
        builder.constant("scales", Tensor::of_float({what.n * what.blocks()}, all.scales))};
    if (what.zero_points == ZeroPoints::Packed)
      inputs.push_back(bytes("zeros", {static_cast<std::int64_t>(all.packed_zero_points.size())},
                             all.packed_zero_points));
    if (what.zero_points == ZeroPoints::Floats)
      inputs.push_back(
          builder.constant("zeros", Tensor::of_float({what.n * what.blocks()}, all.zero_points)));
    inputs.resize(5);
    inputs.push_back(bias);
    product = builder.node(
        "MatMulNBits", "product", inputs,
        {{"K", what.k}, {"N", what.n}, {"bits", what.bits}, {"block_size", what.block}});
  } else {
    const ValueId weight =
        builder.constant("weight", Tensor::of_float({what.k, what.n}, all.floats));
    product = builder.node("Add", "biased", {builder.node("MatMul", "product", {x, weight}), bias});
  }
  if (is_fused)
    product = builder.node("Add", "sum", {builder.node("Relu", "relu", {product}), more});
  builder.output(product, "y");
  Graph graph = builder.finish();
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    if (graph.node(NodeId{i}).op == "MatMulNBits") graph.node(NodeId{i}).domain = "com.microsoft";
  }
  graph.opsets["com.microsoft"] = 1;
  return graph;
}

std::unique_ptr<Program> ran(const Graph& graph, const std::string& engine, int threads = 2) {
  ProgramOptions options{.engine = engine};
  options.cpu.threads = threads;
  auto program = compile(infer_shapes(graph), options);
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  return program;
}

void expect_same_as_floats(const WeightCase& what, bool is_fused) {
  SCOPED_TRACE(testing::Message() << "m " << what.m << " k " << what.k << " n " << what.n
                                  << " bits " << what.bits << " block " << what.block << " zeros "
                                  << static_cast<int>(what.zero_points) << " fused " << is_fused);
  const auto fast = ran(product_graph(what, true, is_fused), "cpu");
  const auto expected = ran(product_graph(what, false, is_fused), "reference");
  EXPECT_LT(compare_results(fast->results(), expected->results()).largest, 2e-6);
  ASSERT_EQ(fast->steps().size(), 1u);
  EXPECT_EQ(fast->steps()[0].fell_back, "");
}

TEST(WeightOnly, ProductsAreThoseOfWhatTheCodesStandFor) {
  for (const std::int64_t bits : {4, 8}) {
    for (const std::int64_t block : {16, 32, 128}) {
      for (const std::int64_t m : {1, 2, 3, 8, 9, 21}) {
        for (const ZeroPoints zeros : {ZeroPoints::None, ZeroPoints::Packed, ZeroPoints::Floats})
          expect_same_as_floats({m, 128, 70, bits, block, zeros}, m % 2 == 1);
      }
    }
  }
}

TEST(WeightOnly, ColumnsNeedNotFillTheirLastBlock) {
  for (const std::int64_t k : {5, 40, 100, 300}) {
    for (const std::int64_t m : {1, 12})
      expect_same_as_floats({m, k, 33, 4, 64, ZeroPoints::Packed}, true);
  }
}

TEST(WeightOnly, AStepReadsCodesAndScalesOnly) {
  const WeightCase what{.m = 1, .k = 1024, .n = 256, .bits = 4, .block = 32};
  const auto program = ran(product_graph(what, true, false), "cpu");
  // Half a byte a weight, four bytes of scale for each 32, and a bias of four bytes a column.
  const std::int64_t expected = 1024 * 256 / 2 + 1024 * 256 / 32 * 4 + 256 * 4;
  EXPECT_EQ(program->steps()[0].weight_bytes, expected);
  EXPECT_EQ(program->memory().weight_bytes, expected);
  EXPECT_EQ(program->steps()[0].algorithm, "int4 weights");
}

TEST(WeightOnly, ResultsAreTheSameOnAnyNumberOfThreads) {
  const Graph graph =
      product_graph({.m = 2, .k = 512, .n = 200, .zero_points = ZeroPoints::Packed}, true, true);
  const auto one = ran(graph, "cpu", 1)->results();
  EXPECT_EQ(one, ran(graph, "cpu", 2)->results());
}

std::vector<float> some_scales(std::int64_t count, unsigned seed) {
  std::vector<float> scales = some_floats(count, seed);
  for (float& scale : scales) scale = 0.01f + std::abs(scale);
  return scales;
}

// DequantizeLinear of blocks, columns or the whole matrix, signed or not, before MatMul and Gemm.
Graph dequantized_graph(DataType type, std::int64_t block, bool is_transposed, bool has_zeros) {
  constexpr std::int64_t kRows = 64;
  constexpr std::int64_t kColumns = 24;
  GraphBuilder builder("dequantized", 0, 21);
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, kRows});
  const std::vector<std::int64_t> dims = is_transposed ? std::vector<std::int64_t>{kColumns, kRows}
                                                       : std::vector<std::int64_t>{kRows, kColumns};
  const auto codes = [&](const std::string& name, const std::vector<std::int64_t>& shape,
                         std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(static_cast<std::size_t>(*byte_size(type, count)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return builder.constant(name, Tensor(type, shape, heap_storage(std::move(bytes))));
  };
  std::int64_t scales = block > 0 ? kRows / block * kColumns : kColumns;
  std::vector<std::int64_t> scale_dims = {kColumns};
  if (block > 0)
    scale_dims = is_transposed ? std::vector<std::int64_t>{kColumns, kRows / block}
                               : std::vector<std::int64_t>{kRows / block, kColumns};
  std::vector<ValueId> inputs = {
      codes("codes", dims, kRows * kColumns, 1),
      builder.constant("scales", Tensor::of_float(scale_dims, some_scales(scales, 4)))};
  if (has_zeros) inputs.push_back(codes("zeros", scale_dims, scales, 2));
  std::vector<Attribute> attributes = {
      {"axis", std::int64_t{(block > 0) != is_transposed ? 0 : 1}}};
  if (block > 0) attributes.push_back({"block_size", block});
  const ValueId weight = builder.node("DequantizeLinear", "weight", inputs, attributes);
  const ValueId y =
      is_transposed ? builder.node("Gemm", "product", {x, weight}, {{"transB", std::int64_t{1}}})
                    : builder.node("MatMul", "product", {x, weight});
  builder.output(y, "y");
  return builder.finish();
}

TEST(WeightOnly, DequantisedWeightsStayCodes) {
  for (const DataType type : {DataType::Int4, DataType::UInt4, DataType::Int8, DataType::UInt8}) {
    for (const std::int64_t block : {0, 16, 32}) {
      for (const bool is_transposed : {false, true}) {
        for (const bool has_zeros : {false, true}) {
          SCOPED_TRACE(testing::Message() << name(type) << " block " << block << " transposed "
                                          << is_transposed << " zeros " << has_zeros);
          const Graph graph = dequantized_graph(type, block, is_transposed, has_zeros);
          const auto fast = ran(graph, "cpu");
          EXPECT_LT(compare_results(fast->results(), ran(graph, "reference")->results()).largest,
                    2e-6);
          ASSERT_EQ(fast->steps().size(), 1u);
          EXPECT_EQ(fast->steps()[0].algorithm, bits(type) == 4 ? "int4 weights" : "int8 weights");
        }
      }
    }
  }
}

// Every instruction set this processor has computes the same.
TEST(WeightOnly, FewRowsOfFloatsAreMultipliedAtAnyWidth) {
  std::vector<const cpu::SimdKernels*> all = {&cpu::simd_baseline(), &cpu::simd()};
  for (const cpu::SimdKernels* kernels : all) {
    for (const std::size_t depth : {1u, 15u, 64u, 100u}) {
      const auto x = some_floats(static_cast<std::int64_t>(depth), 1);
      const auto matrix = some_floats(static_cast<std::int64_t>(3 * depth), 2);
      float products[3] = {};
      kernels->dot_products(x.data(), matrix.data(), 3, depth, products);
      for (std::size_t row = 0; row < 3; ++row) {
        double expected = 0;
        for (std::size_t i = 0; i < depth; ++i)
          expected += static_cast<double>(x[i]) * static_cast<double>(matrix[row * depth + i]);
        EXPECT_NEAR(products[row], expected, 1e-5) << kernels->name << " " << depth;
      }
    }
  }
}

TEST(FewRows, AreMultipliedByRowsOfAMatrixAtAnyWidth) {
  for (const cpu::SimdKernels* kernels : {&cpu::simd_baseline(), &cpu::simd()}) {
    for (const std::size_t rows : {1u, 4u, 9u}) {
      for (const std::size_t columns : {1u, 6u, 15u}) {
        const std::size_t depth = 37 + rows;
        const std::size_t stride = depth + 3;
        const auto x = some_floats(static_cast<std::int64_t>(rows * stride), 1);
        const auto matrix = some_floats(static_cast<std::int64_t>(columns * depth), 2);
        std::vector<float> products(rows * 20, 7.0f);
        kernels->rows_by_rows({x.data(), rows, stride}, matrix.data(), columns, depth,
                              products.data(), 20);
        for (std::size_t i = 0; i < products.size(); ++i) {
          double expected = 0;
          for (std::size_t k = 0; i % 20 < columns && k < depth; ++k)
            expected += static_cast<double>(x[i / 20 * stride + k]) *
                        static_cast<double>(matrix[i % 20 * depth + k]);
          EXPECT_NEAR(products[i], i % 20 < columns ? expected : 7.0, 1e-5) << kernels->name;
        }
      }
    }
  }
}

TEST(FewRows, SixteenAreMultipliedSideBySideAtAnyWidth) {
  for (const cpu::SimdKernels* kernels : {&cpu::simd_baseline(), &cpu::simd()}) {
    for (const std::size_t columns : {1u, 8u, 21u}) {
      for (const std::size_t depth : {1u, 16u, 37u}) {
        const auto x = some_floats(static_cast<std::int64_t>(16 * depth), 1);
        const auto matrix = some_floats(static_cast<std::int64_t>(columns * depth), 2);
        std::vector<float> rows(16 * depth);
        std::vector<float> products(16 * columns);
        kernels->transpose(x.data(), depth, rows.data(), 16, 16, depth);
        kernels->sixteen_by_rows(rows.data(), matrix.data(), columns, depth, products.data());
        for (std::size_t i = 0; i < products.size(); ++i) {
          double expected = 0;
          for (std::size_t k = 0; k < depth; ++k)
            expected += static_cast<double>(x[i % 16 * depth + k]) *
                        static_cast<double>(matrix[i / 16 * depth + k]);
          EXPECT_NEAR(products[i], expected, 1e-5) << kernels->name << " " << columns;
        }
      }
    }
  }
}

TEST(FewRows, ALargeMatrixIsReadInPanelsOrWhereItIsStored) {
  for (const bool is_shared : {false, true}) {
    for (const std::int64_t m : {1, 4}) {
      GraphBuilder builder("head");
      const ValueId ids = builder.input("ids", DataType::Int64, Shape{m});
      const ValueId x = builder.input("x", DataType::Float32, Shape{m, 700});
      const ValueId table = builder.weight("table", {777, 700}, 0.1);
      const ValueId matrix =
          builder.node("Transpose", "turned", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}});
      if (is_shared) builder.output(builder.node("Gather", "rows", {table, ids}), "rows");
      builder.output(builder.node("MatMul", "product", {x, matrix}), "y");
      const Graph graph = builder.finish();
      const auto fast = ran(graph, "cpu");
      EXPECT_EQ(fast->steps().back().algorithm, is_shared ? "dot products" : "panels");
      EXPECT_LT(compare_results(fast->results(), ran(graph, "reference")->results()).largest, 2e-6);
    }
  }
}

}  // namespace
}  // namespace assay
