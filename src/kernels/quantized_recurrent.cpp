// DynamicQuantizeLSTM: an LSTM whose weights are 8-bit numbers. The input, and the state before
// every step, are quantised to uint8 as they arrive.
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/quantization.h"
#include "kernels/real.h"
#include "kernels/recurrent_cells.h"

namespace assay::kernels {

namespace {

// One number for each direction, or for each direction and row of its weights.
class RowNumbers {
 public:
  RowNumbers(const KernelCall& call, std::size_t input, const Dims& weight)
      : numbers_(call.input(input).to_double()), rows_(weight[2]) {
    const std::int64_t count = call.input(input).elements();
    is_for_rows_ = count != weight[0];
    if (is_for_rows_ && count / std::max<std::int64_t>(rows_, 1) != weight[0])
      call.fail("input {} holds {} numbers for {} directions of {} rows", input, count, weight[0],
                rows_);
  }

  double at(std::int64_t direction, std::int64_t row) const {
    return numbers_[is_for_rows_ ? direction * rows_ + row : direction];
  }

 private:
  std::vector<double> numbers_;
  std::int64_t rows_ = 0;
  bool is_for_rows_ = false;
};

// (directions, columns, rows) in 8 bits as (directions, rows, columns) in real numbers.
Tensor real_weight(const KernelCall& call, std::size_t input, std::size_t scale_input) {
  const Tensor& tensor = call.input(input);
  const Dims& dims = tensor.dims();
  if (dims.size() != 3) call.fail("input {} has {} axes, needs 3", input, dims.size());
  const RowNumbers scales(call, scale_input, dims);
  const RowNumbers zero_points(call, scale_input + 1, dims);
  const auto codes = tensor.to_double();
  std::vector<double> values(codes.size());
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    const auto [direction, column, row] = std::array{index[0], index[1], index[2]};
    values[(direction * dims[2] + row) * dims[1] + column] =
        (codes[i] - zero_points.at(direction, row)) * scales.at(direction, row);
  });
  return store_real(DataType::Float64, {dims[0], dims[2], dims[1]}, values);
}

void quantize_and_back(std::vector<double>& values) {
  const DynamicRange range = dynamic_range(values);
  for (double& value : values) value = range.rounded(value);
}

// ONNX Runtime quantises the states of as many sequences together as one of its threads works on;
// here each sequence has a range of its own.
void dynamic_lstm_cell(const KernelCall& call, const RecurrentDirection& direction, const double* x,
                       RecurrentState& state) {
  static const RecurrentCell cell = lstm_op().cell;
  quantize_and_back(state.h);
  cell(call, direction, x, state);
}

// Inputs: X, W, R, then those of LSTM; scale and zero point of W, then of R.
std::vector<Tensor> dynamic_lstm(const KernelCall& call) {
  const Tensor& input = call.input(0);
  auto values = load_real(call, input);
  quantize_and_back(values);
  std::vector<Tensor> inputs = {store_real(input.type(), input.dims(), values),
                                real_weight(call, 1, 8), real_weight(call, 2, 10)};
  for (std::size_t i = inputs.size(); i < 8; ++i)
    inputs.push_back(call.has(i) ? call.input(i) : Tensor());
  RecurrentOp op = lstm_op();
  op.cell = dynamic_lstm_cell;
  return run_recurrent(KernelCall{call.node, inputs, call.opset}, op);
}

}  // namespace

void add_quantized_recurrent_kernels(KernelTable& table) {
  table["DynamicQuantizeLSTM"] = dynamic_lstm;
}

}  // namespace assay::kernels
