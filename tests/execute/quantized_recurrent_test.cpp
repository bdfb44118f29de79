// DynamicQuantizeLSTM on the fast engine against the reference one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "assay/builder.h"
#include "assay/infer.h"
#include "assay/program.h"
#include "compare_engines.h"
#include "execute/all_kernels.h"
#include "execute/counted_new.h"
#include "execute/cpu/kernels/quantized_recurrent.h"
#include "execute/cpu/simd/vnni.h"

namespace assay {
namespace {

struct LstmSetting {
  std::int64_t steps = 5;
  std::int64_t batch = 1;
  std::int64_t inputs = 12;
  std::int64_t hidden = 40;
  std::string direction = "forward";
  DataType type = DataType::Int8;
  bool has_zero_points = false;
  bool has_scales_for_columns = false;
  bool has_bias = true;
  bool has_states = true;
  std::vector<Attribute> attributes = {};

  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  std::int64_t columns() const { return 4 * hidden; }
};

class LstmAuthor {
 public:
  explicit LstmAuthor(const LstmSetting& setting) : setting_(setting), builder_("lstm", 3) {}

  Graph graph() {
    const LstmSetting& s = setting_;
    std::vector<ValueId> inputs(12);
    inputs[0] = builder_.input("x", DataType::Float32, Shape{s.steps, s.batch, s.inputs});
    add_matrix(inputs, 1, 8, s.inputs);
    add_matrix(inputs, 2, 10, s.hidden);
    if (s.has_bias) inputs[3] = builder_.weight("b", {s.directions(), 2 * s.columns()}, 0.2);
    const Shape state = {s.directions(), s.batch, s.hidden};
    if (s.has_states) inputs[5] = builder_.input("h", DataType::Float32, state);
    if (s.has_states) inputs[6] = builder_.input("c", DataType::Float32, state);
    std::vector<Attribute> attributes = s.attributes;
    attributes.push_back({"direction", s.direction});
    attributes.push_back({"hidden_size", s.hidden});
    const auto results =
        builder_.node_with_outputs("DynamicQuantizeLSTM", "lstm", inputs, 3, attributes);
    for (const ValueId result : results) builder_.output(result, builder_.unique_name("result"));
    Graph graph = builder_.finish();
    graph.node(NodeId{0}).domain = "com.microsoft";
    graph.opsets["com.microsoft"] = 1;
    return graph;
  }

 private:
  int drawn(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  Tensor bytes(const std::vector<std::int64_t>& dims, int low, int high) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    std::vector<std::int8_t> numbers(static_cast<std::size_t>(count));
    for (std::int8_t& number : numbers) number = static_cast<std::int8_t>(drawn(low, high));
    if (setting_.type == DataType::Int8)
      return Tensor::of<std::int8_t>(DataType::Int8, dims, numbers);
    const std::vector<std::uint8_t> plain(numbers.begin(), numbers.end());
    return Tensor::of<std::uint8_t>(DataType::UInt8, dims, plain);
  }

  // The whole range of 8-bit numbers, so that sums of 16 bits would overflow.
  void add_matrix(std::vector<ValueId>& inputs, std::size_t input, std::size_t scale_input,
                  std::int64_t depth) {
    const LstmSetting& s = setting_;
    const bool is_signed = s.type == DataType::Int8;
    std::vector<std::int64_t> dims = {s.directions()};
    if (s.has_scales_for_columns) dims.push_back(s.columns());
    std::vector<float> scales;
    for (std::int64_t i = 0; i < s.directions() * (dims.size() == 2 ? s.columns() : 1); ++i)
      scales.push_back(0.001f + 0.0001f * static_cast<float>(drawn(0, 9)));
    const std::string name = "matrix" + std::to_string(input);
    inputs[input] = builder_.constant(name, bytes({s.directions(), depth, s.columns()},
                                                  is_signed ? -128 : 0, is_signed ? 127 : 255));
    inputs[scale_input] = builder_.constant(name + "_scale", Tensor::of_float(dims, scales));
    const int middle = is_signed ? 0 : 128;
    const int spread = s.has_zero_points ? 30 : 0;
    inputs[scale_input + 1] =
        builder_.constant(name + "_zero", bytes(dims, middle - spread, middle + spread));
  }

  LstmSetting setting_;
  GraphBuilder builder_;
  std::mt19937 random_{5};
};

std::vector<Tensor> lstm_results(Program& program) {
  program.set_inputs(random_inputs(program.inputs(), 5));
  program.run();
  program.run();  // a second run meets the arena as the first one left it
  return program.results();
}

// After the first step a state may be quantised to the next number where it lies in the middle
// between two, which changes all that follows a little.
double tolerance_for(const LstmSetting& setting) {
  return setting.steps == 1 ? 2e-6 : 2e-3;
}

void expect_near_reference(const LstmSetting& setting, const std::string& what) {
  const Inferred model = infer_shapes(LstmAuthor(setting).graph());
  const auto expected = lstm_results(*compile(model, {.engine = "reference"}));
  std::vector<Tensor> on_one_thread;
  for (const int threads : {1, 2}) {
    const auto fast = compile(model, {.cpu = {.threads = threads}});
    const auto results = lstm_results(*fast);
    const Difference difference = compare_results(results, expected);
    EXPECT_TRUE(difference.same_shapes) << what;
    EXPECT_LT(difference.largest, tolerance_for(setting)) << what << " " << difference.where;
    for (const StepInfo& step : fast->steps()) EXPECT_EQ(step.fell_back, "") << what;
    if (threads == 1) on_one_thread = results;
    EXPECT_EQ(compare_results(results, on_one_thread).largest, 0) << what;
  }
}

TEST(QuantizedLstm, AgreesInAllDirections) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const std::int64_t batch : {1, 3, 7, 30}) {
      for (const std::int64_t steps : {1, 6}) {
        expect_near_reference({.steps = steps, .batch = batch, .direction = direction},
                              std::string(direction) + " " + std::to_string(batch));
      }
    }
  }
}

TEST(QuantizedLstm, AgreesOnSizesThatNoVectorDivides) {
  for (const std::int64_t hidden : {1, 2, 31, 32, 33, 70, 131}) {
    for (const std::int64_t inputs : {1, 5, 8, 67}) {
      expect_near_reference({.steps = 1, .batch = 2, .inputs = inputs, .hidden = hidden},
                            std::to_string(inputs) + " to " + std::to_string(hidden));
    }
  }
}

TEST(QuantizedLstm, AgreesWhateverScalesAndZeroPointsThereAre) {
  for (const DataType type : {DataType::Int8, DataType::UInt8}) {
    for (const bool has_zero_points : {false, true}) {
      for (const bool for_columns : {false, true}) {
        for (const std::int64_t steps : {1, 4}) {
          expect_near_reference({.steps = steps,
                                 .batch = 2,
                                 .direction = "bidirectional",
                                 .type = type,
                                 .has_zero_points = has_zero_points,
                                 .has_scales_for_columns = for_columns},
                                std::to_string(has_zero_points) + std::to_string(for_columns));
        }
      }
    }
  }
}

TEST(QuantizedLstm, AgreesWithoutBiasAndInitialStates) {
  for (const bool has_bias : {false, true}) {
    for (const bool has_states : {false, true}) {
      expect_near_reference({.has_bias = has_bias, .has_states = has_states},
                            std::to_string(has_bias) + std::to_string(has_states));
    }
  }
}

// Enough inputs for their quantisation to be shared by threads.
TEST(QuantizedLstm, AgreesOnManyInputs) {
  expect_near_reference({.steps = 1, .batch = 40, .inputs = 1000, .hidden = 9}, "many inputs");
}

TEST(QuantizedLstm, IsLeftToTheReferenceKernelInUnusualForms) {
  const LstmSetting setting{.attributes = {{"clip", 0.5f}}};
  const Inferred model = infer_shapes(LstmAuthor(setting).graph());
  const auto fast = compile(model, {});
  EXPECT_NE(fast->steps().front().fell_back, "");
  const auto expected = lstm_results(*compile(model, {.engine = "reference"}));
  EXPECT_LT(compare_results(lstm_results(*fast), expected).largest, 1e-6);
}

TEST(QuantizedLstm, AllocatesNothingInARun) {
  for (const int threads : {1, 2}) {
    const LstmSetting setting{.batch = 2, .inputs = 5000};
    const auto program =
        compile(infer_shapes(LstmAuthor(setting).graph()), {.cpu = {.threads = threads}});
    program->set_inputs(random_inputs(program->inputs()));
    program->run();
    EXPECT_EQ(test::allocations_in([&] { program->run(); }), 0);
  }
}

}  // namespace

namespace cpu {
namespace {

std::vector<std::pair<std::string, ByteProductFunction>> all_byte_products() {
  std::vector<std::pair<std::string, ByteProductFunction>> all;
  for (const SimdKernels* kernels : all_kernels())
    all.push_back({kernels->name, kernels->byte_product});
  if (vnni() != nullptr) all.push_back({"vnni", vnni()->byte_product});
  return all;
}

struct ByteOperands {
  std::size_t rows = 0, depth = 0, columns = 0;
  std::vector<std::uint8_t> left;
  std::vector<std::int8_t> right;  // [depth, columns]

  std::vector<std::int8_t> packed() const {
    std::vector<std::int8_t> blocks(right.size());
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t j = 0; j < columns; ++j)
        blocks[j / 64 * 64 * depth + k / 4 * 256 + j % 64 * 4 + k % 4] = right[k * columns + j];
    }
    return blocks;
  }
  std::int32_t sum(std::size_t row, std::size_t column) const {
    std::int32_t total = 0;
    for (std::size_t k = 0; k < depth; ++k)
      total += left[row * depth + k] * right[k * columns + column];
    return total;
  }
};

// Numbers at the ends of their ranges are drawn most often: sums of 16 bits would overflow.
ByteOperands byte_operands(std::size_t rows, std::size_t depth, std::size_t columns) {
  std::mt19937 random(11);
  ByteOperands all{rows, depth, columns, {}, {}};
  const auto drawn = [&](int low, int high) {
    const int side = std::uniform_int_distribution<int>(0, 2)(random);
    if (side == 0) return low;
    if (side == 1) return high;
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (std::size_t i = 0; i < rows * depth; ++i)
    all.left.push_back(static_cast<std::uint8_t>(drawn(0, 255)));
  for (std::size_t i = 0; i < depth * columns; ++i)
    all.right.push_back(static_cast<std::int8_t>(drawn(-128, 127)));
  return all;
}

TEST(ByteProduct, IsExact) {
  for (const std::size_t rows : {1u, 2u, 3u, 5u, 6u, 7u, 13u, 24u}) {
    for (const std::size_t depth : {4u, 8u, 20u, 132u}) {
      for (const std::size_t columns : {64u, 128u, 192u}) {
        const ByteOperands all = byte_operands(rows, depth, columns);
        const auto packed = all.packed();
        for (const auto& [name, product] : all_byte_products()) {
          const std::size_t stride = columns + 3;
          std::vector<std::int32_t> sums(rows * stride, 7);
          product({all.left.data(), rows, depth, packed.data(), depth, columns}, sums.data(),
                  stride);
          for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t j = 0; j < columns; ++j)
              ASSERT_EQ(sums[r * stride + j], all.sum(r, j)) << name << " " << r << " " << j;
            ASSERT_EQ(sums[r * stride + columns], 7) << name;
          }
        }
      }
    }
  }
}

TEST(Simd, ValueRangeHoldsZeroAndEveryNumber) {
  for (const SimdKernels* kernels : all_kernels()) {
    for (const std::size_t n : {1u, 15u, 16u, 37u, 64u}) {
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<float> numbers(n, 0.5f);
        numbers[at] = -3.0f;
        const ValueRange below = kernels->value_range(numbers.data(), n);
        EXPECT_EQ(below.low, -3.0f) << kernels->name << " " << at << " of " << n;
        EXPECT_EQ(below.high, n == 1 ? 0.0f : 0.5f);
        numbers[at] = 3.0f;
        const ValueRange above = kernels->value_range(numbers.data(), n);
        EXPECT_EQ(above.low, 0.0f) << kernels->name;
        EXPECT_EQ(above.high, 3.0f) << kernels->name << " " << at << " of " << n;
      }
    }
  }
}

// c = σ(f)·c' + σ(i)·tanh(g), h = σ(o)·tanh(c)
TEST(Simd, LstmForwardFollowsItsEquations) {
  for (const SimdKernels* kernels : all_kernels()) {
    for (const std::size_t n : {1u, 7u, 16u, 32u, 35u}) {
      std::vector<float> gates, old_cell, hidden(n);
      for (std::size_t i = 0; i < 4 * n; ++i)
        gates.push_back(static_cast<float>(i * 37 % 97) / 12.0f - 4.0f);
      for (std::size_t i = 0; i < n; ++i)
        old_cell.push_back(static_cast<float>(i % 5) / 2.0f - 1.0f);
      const auto given = gates;
      auto cell = old_cell;
      kernels->lstm_forward({gates.data(), n, cell.data(), cell.data(), hidden.data()}, n);
      const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-static_cast<double>(x))); };
      for (std::size_t i = 0; i < n; ++i) {
        const double in = sigmoid(given[i]), out = sigmoid(given[n + i]);
        const double forget = sigmoid(given[2 * n + i]);
        const double candidate = std::tanh(static_cast<double>(given[3 * n + i]));
        const double state = forget * static_cast<double>(old_cell[i]) + in * candidate;
        EXPECT_NEAR(gates[i], in, 1e-6) << kernels->name;
        EXPECT_NEAR(gates[n + i], out, 1e-6);
        EXPECT_NEAR(gates[2 * n + i], forget, 1e-6);
        EXPECT_NEAR(gates[3 * n + i], candidate, 1e-6);
        EXPECT_NEAR(cell[i], state, 1e-6);
        EXPECT_NEAR(hidden[i], out * std::tanh(state), 1e-6);
      }
    }
  }
}

// A whole layer, with every product.
TEST(QuantizedLstmRun, IsTheSameWithEveryProduct) {
  const RecurrentSizes sizes{.steps = 4, .batch = 3, .inputs = 10, .hidden = 50};
  std::mt19937 random(2);
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_real_distribution<float> number(-1, 1);
  const auto bytes = [&](std::int64_t count) {
    std::vector<std::byte> all(static_cast<std::size_t>(count));
    for (std::byte& one : all) one = static_cast<std::byte>(byte(random));
    return all;
  };
  const auto w = bytes(sizes.inputs * sizes.weight_rows());
  const auto r = bytes(sizes.hidden * sizes.weight_rows());
  const std::vector<float> scales = {0.002f};
  const std::vector<std::int32_t> zero_points = {117};
  const PlainBytes input{w.data(), false, sizes.inputs, scales, zero_points};
  const PlainBytes recurrent{r.data(), false, sizes.hidden, scales, zero_points};
  const QuantizedLstm layer(sizes, input, recurrent, nullptr);
  std::vector<std::int8_t> packed_input(static_cast<std::size_t>(layer.input.packed_bytes()));
  std::vector<std::int8_t> packed_recurrent(
      static_cast<std::size_t>(layer.recurrent.packed_bytes()));
  pack_bytes(sizes, input, packed_input.data());
  pack_bytes(sizes, recurrent, packed_recurrent.data());
  const auto floats = [](std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count));
  };
  auto source = floats(sizes.rows() * sizes.inputs);
  for (float& one : source) one = number(random);
  std::vector<float> expected;
  for (const auto& [name, product] : all_byte_products()) {
    for (const int threads : {1, 2}) {
      auto gates = floats(sizes.rows() * sizes.gate_row());
      auto hidden = floats(sizes.hidden_places() * sizes.state_floats());
      auto cell = floats(sizes.cell_places() * sizes.state_floats());
      auto output = floats(sizes.rows() * sizes.hidden);
      std::vector<std::uint8_t> workspace(static_cast<std::size_t>(layer.workspace_bytes(threads)));
      run_quantized_lstm(layer,
                         {.floats = {.source = source.data(),
                                     .gates = gates.data(),
                                     .hidden = hidden.data(),
                                     .cell = cell.data(),
                                     .output = output.data(),
                                     .output_step = sizes.batch * sizes.hidden},
                          .input = packed_input.data(),
                          .recurrent = packed_recurrent.data(),
                          .workspace = workspace.data()},
                         product, threads);
      if (expected.empty()) expected = output;
      EXPECT_EQ(output, expected) << name << " on " << threads;
    }
  }
  EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0.01f);
}

}  // namespace
}  // namespace cpu
}  // namespace assay
