// Post-training quantisation: a float model and a few batches of data in, a model of 8-bit integers
// out, written as QuantizeLinear/DequantizeLinear pairs that engines and other runtimes recognise.
//
// Batch norms are folded first. Weights are symmetric int8 from -127 to 127, with a scale for each
// output channel; activations are uint8 with one scale and zero point; biases are int32 in units of
// input scale × weight scale. 0.0 is always represented exactly. docs/quantize.md has the details.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/graph.h"
#include "assay/loader.h"
#include "assay/program.h"
#include "assay/progress.h"

namespace assay {

// How the range of an activation follows from the numbers observed. All but MinMax work on
// histograms of a fixed size, however much data there is.
enum class CalibrationMethod {
  MinMax,      // the least and the greatest number
  Percentile,  // without the outermost numbers
  Mse,         // the range with the least mean squared rounding and clipping error
  Entropy,     // the range whose quantised distribution diverges least from the observed one
};
std::string_view name(CalibrationMethod method);              // "minmax", "percentile", …
CalibrationMethod calibration_method(std::string_view name);  // throws an Error for another name

// Batches to observe activations on: `batch(i)` has one tensor for each input of the model.
struct CalibrationData {
  std::size_t batches = 0;
  std::function<std::vector<Tensor>(std::size_t)> batch = {};
  std::string source = "";  // in words
};
CalibrationData calibration_data(std::vector<std::vector<Tensor>> batches);
// The first batches of the loader's epoch; 0: all. Samples get the shape of the model's input. The
// loader must outlive the result.
CalibrationData calibration_data(const Loader& loader, const Graph& model, std::size_t batches = 0);
// All .npy files of a folder. For a model with several inputs, the name of a file begins with the
// input's name, as in `ids_0.npy`, and the files of one batch have the same ending (`_0`). A file
// holds one batch, or a sample without the axis of the batch.
CalibrationData calibration_folder(const std::filesystem::path& folder, const Graph& model);

struct QuantizeOptions {
  CalibrationMethod calibration = CalibrationMethod::MinMax;
  double percentile = 99.99;  // of the numbers that stay within the range; half of the rest a side
  bool per_channel = true;    // else one scale for a whole weight
  bool equalize = false;      // scales channels of neighbouring layers to similar ranges first
  bool correct_bias = true;   // removes the mean error that rounded weights cause, in the bias
  std::vector<std::string> keep_float = {};  // layers that stay as they are, by name
  ProgramOptions program = {};               // of the runs that observe activations
};

// A layer with weights, or a product of activations.
struct QuantizedLayer {
  std::string name = "";
  std::string op = "";
  std::string type = "";                  // of its arithmetic: "int8" or "fp32"
  std::vector<float> weight_scales = {};  // one, or one for each output channel
  float input_scale = 0;                  // of its first operand
  std::int32_t input_zero_point = 0;
  float output_scale = 0;
  std::int32_t output_zero_point = 0;
  std::string why_float = "";  // empty if it is quantised
};

// An activation that is stored in 8 bits.
struct QuantizedActivation {
  std::string value = "";
  float least = 0;  // observed
  float greatest = 0;
  float scale = 0;
  std::int32_t zero_point = 0;
};

struct QuantizeResult {
  Graph graph;
  std::vector<QuantizedLayer> layers = {};            // in execution order
  std::vector<QuantizedActivation> activations = {};  // likewise
  std::size_t samples = 0;                            // that were observed
  std::vector<std::string> warnings = {};
};

// Throws an Error if there is no calibration data, if data does not fit the model's inputs, or if a
// number in an activation or a weight is not finite. A model that is quantised already is returned
// as it is, with a warning.
QuantizeResult quantize_model(const Graph& model, const CalibrationData& data,
                              const QuantizeOptions& options = {}, Progress* progress = nullptr);

// Names of the layers that quantize_model can quantise, in execution order.
std::vector<std::string> quantizable_layers(const Graph& model);

// What quantising one layer alone does to the first output, over all calibration data.
struct LayerSensitivity {
  std::string layer = "";
  std::string op = "";
  double snr_db = 0;     // of the output: signal over error, in decibels; higher is better
  double agreement = 1;  // of rows along the output's last axis: equal position of the maximum
  double mean_squared_error = 0;
};

// In execution order. Activations are observed once.
std::vector<LayerSensitivity> measure_sensitivity(const Graph& model, const CalibrationData& data,
                                                  const QuantizeOptions& options = {},
                                                  Progress* progress = nullptr);

// How good a model is, in percentage points: accuracy, or agreement with the float model.
using ModelScore = std::function<double(const Graph&)>;

struct MixedOptions {
  QuantizeOptions quantize = {};
  double max_loss = 0.5;  // points below the score of the float model
  // Layers whose quantised steps take longer than their float ones stay float.
  bool keep_faster_float = true;
};

struct MixedResult {
  QuantizeResult quantized;
  std::vector<LayerSensitivity> sensitivities = {};  // empty if every layer could be quantised
  std::vector<std::string> kept_float = {};          // beyond those asked for, worst first
  std::vector<std::string> faster_float = {};        // of those, the ones kept for their speed
  double float_score = 0;
  double score = 0;
  bool met = false;  // whether the loss is within max_loss
};

// Quantises every layer; where the loss is too large, the most sensitive ones stay float, as few as
// suffice.
MixedResult quantize_mixed(const Graph& model, const CalibrationData& data, const ModelScore& score,
                           const MixedOptions& options = {}, Progress* progress = nullptr);

// Weights in 8 bits; ranges of activations are computed in every run, so no data is needed.
// Products with a constant matrix become DynamicQuantizeLinear and MatMulInteger, LSTMs
// DynamicQuantizeLSTM.
QuantizeResult quantize_dynamic(const Graph& model, const QuantizeOptions& options = {});

}  // namespace assay
