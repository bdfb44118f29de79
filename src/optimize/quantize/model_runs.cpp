#include "optimize/quantize/model_runs.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/fail.h"
#include "profile/compiled_model.h"

namespace assay::optimize {

namespace {

constexpr double kNoErrorDb = 200;  // of outputs that are equal

std::size_t position_of_largest(std::span<const float> row) {
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

}  // namespace

RowsOfOutputs first_outputs(const Graph& model, const CalibrationData& data,
                            const ProgramOptions& options) {
  RowsOfOutputs found;
  std::unique_ptr<Program> program;
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < data.batches; ++i) {
    const std::vector<Tensor> batch = data.batch(i);
    if (program != nullptr && std::ranges::equal(batch, shapes, {}, &Tensor::dims)) {
      program->set_inputs(batch);
    } else {
      program = profile::compiled_for(model, batch, options);
      shapes.clear();
      for (const Tensor& tensor : batch) shapes.push_back(tensor.dims());
    }
    program->run();
    const Tensor output = program->results().front();
    if (output.type() != DataType::Float32)
      fail_bad_input("the model's first output is {}: errors are measured on float32",
                     output.shape().to_string());
    found.outputs.push_back(output.to_vector<float>());
    found.row = output.dims().empty() ? 1 : static_cast<std::size_t>(output.dims().back());
  }
  return found;
}

void compare_outputs(const RowsOfOutputs& real, const FirstOutputs& other,
                     LayerSensitivity& sensitivity) {
  double signal = 0, error = 0, numbers = 0, rows = 0, equal = 0;
  for (std::size_t b = 0; b < real.outputs.size(); ++b) {
    const std::span<const float> wanted = real.outputs[b];
    const std::span<const float> found = other[b];
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      signal += std::pow(static_cast<double>(wanted[i]), 2);
      error += std::pow(static_cast<double>(wanted[i]) - static_cast<double>(found[i]), 2);
    }
    numbers += static_cast<double>(wanted.size());
    for (std::size_t i = 0; i + real.row <= wanted.size(); i += real.row) {
      equal += position_of_largest(wanted.subspan(i, real.row)) ==
                       position_of_largest(found.subspan(i, real.row))
                   ? 1
                   : 0;
      rows += 1;
    }
  }
  sensitivity.mean_squared_error = numbers > 0 ? error / numbers : 0;
  sensitivity.snr_db = error > 0
                           ? std::min(kNoErrorDb, 10 * std::log10(std::max(signal, 1e-300) / error))
                           : kNoErrorDb;
  sensitivity.agreement = rows > 0 ? equal / rows : 1;
}

}  // namespace assay::optimize
