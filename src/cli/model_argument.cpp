#include "cli/model_argument.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "assay/npy.h"
#include "assay/onnx.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay::cli {

namespace {

// Tensor names may contain '=', numbers may not: the last '=' is the separator.
std::pair<std::string, std::string> name_and_rest(const std::string& argument, const char* flag,
                                                  const char* example) {
  const auto equals = argument.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
    fail_usage("{} {}: expected NAME=VALUE, for example {} {}", flag, argument, flag, example);
  }
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

// Paths may contain '=' too: before a path, the first '=' is the separator.
std::pair<std::string, std::string> input_and_rest(const std::string& argument) {
  const auto equals = argument.find('=');
  if (!is_tensor_file(argument) || equals == std::string::npos || equals == 0) {
    return name_and_rest(argument, "--input", "x=1x3x224x224");
  }
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::vector<std::int64_t> parse_shape(const std::string& argument, const std::string& text) {
  if (text == "scalar") return {};
  const char separator = text.find('x') != std::string::npos ? 'x' : ',';
  std::vector<std::int64_t> dims;
  for (const auto& part : split(text, separator)) {
    const auto dim = parse_integer(part);
    if (!dim || *dim < 1) {
      fail_usage("--input {}: '{}' is not a dimension; write NAME=1x3x224x224 or NAME=file.npy",
                 argument, part);
    }
    dims.push_back(*dim);
  }
  return dims;
}

double parse_number(const std::string& argument, const std::string& text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    fail_usage("--value {}: '{}' is not a number", argument, text);
  }
  return number;
}

template <typename T>
Tensor tensor_of(DataType type, const std::vector<std::int64_t>& dims,
                 const std::vector<double>& numbers) {
  std::vector<T> values;
  for (const double number : numbers) {
    const bool fits = std::is_floating_point_v<T> ||
                      (number >= static_cast<double>(std::numeric_limits<T>::min()) &&
                       number < static_cast<double>(std::numeric_limits<T>::max()));
    if (!fits) fail_usage("--value: {} does not fit the input's type, {}", number, name(type));
    values.push_back(static_cast<T>(number));
  }
  return Tensor::of<T>(type, dims, values);
}

Tensor tensor_of_type(const std::string& argument, DataType type,
                      const std::vector<std::int64_t>& dims, const std::vector<double>& numbers) {
  switch (type) {
    case DataType::Int64:
      return tensor_of<std::int64_t>(type, dims, numbers);
    case DataType::Int32:
      return tensor_of<std::int32_t>(type, dims, numbers);
    case DataType::Float32:
      return tensor_of<float>(type, dims, numbers);
    case DataType::Float64:
      return tensor_of<double>(type, dims, numbers);
    case DataType::Bool:
      return tensor_of<std::uint8_t>(type, dims, numbers);
    default:
      fail_usage("--value {}: inputs of type {} cannot be given on the command line", argument,
                 name(type));
  }
}

const Value& input_named(const Graph& graph, const std::string& wanted) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs()) {
    if (graph.value(id).name == wanted) return graph.value(id);
    names.push_back(graph.value(id).name);
  }
  fail_bad_input("the model has no input named '{}'; it has {}", wanted, join(names, ", "));
}

Tensor parse_value(const std::string& argument, const Value& input, const std::string& text) {
  std::vector<double> numbers;
  for (const auto& part : split(text, ',')) numbers.push_back(parse_number(argument, part));
  std::vector<std::int64_t> dims;
  const auto& shape = input.type.shape;
  const bool is_vector = shape ? shape->rank() == 1 : numbers.size() > 1;
  if (is_vector) dims.push_back(static_cast<std::int64_t>(numbers.size()));
  if (shape && shape->rank() > 1) {
    fail_usage("--value {}: only scalar and one-dimensional inputs can be given", argument);
  }
  if (!is_vector && numbers.size() != 1) {
    fail_usage("--value {}: '{}' is a scalar, give one number", argument, input.name);
  }
  return tensor_of_type(argument, input.type.element, dims, numbers);
}

struct Precision {
  const char* name = "";
  DataType type = DataType::Float32;
};

constexpr std::array<Precision, 7> kPrecisions = {{{"fp64", DataType::Float64},
                                                   {"fp32", DataType::Float32},
                                                   {"fp16", DataType::Float16},
                                                   {"bf16", DataType::BFloat16},
                                                   {"fp8", DataType::Float8E4M3FN},
                                                   {"int8", DataType::Int8},
                                                   {"int4", DataType::Int4}}};

std::optional<double> finite_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::map<std::string, std::int64_t> parse_dims(const std::vector<std::string>& arguments) {
  std::map<std::string, std::int64_t> dims;
  for (const auto& argument : arguments) {
    const auto [name, text] = name_and_rest(argument, "--dim", "batch=8");
    const auto number = parse_integer(text);
    if (!number || *number < 1) {
      fail_usage("--dim {}: '{}' is not a dimension, expected a whole number from 1 on", argument,
                 text);
    }
    if (!dims.emplace(name, *number).second) fail_usage("--dim {} is given twice", name);
  }
  return dims;
}

bool is_tensor_file(const std::string& path) {
  return path.ends_with(".npy") || path.ends_with(".pb");
}

Tensor read_tensor(const std::string& path) {
  return path.ends_with(".npy") ? read_npy(path) : read_onnx_tensor(path);
}

InputArguments parse_inputs(const std::vector<std::string>& arguments) {
  InputArguments inputs;
  for (const auto& argument : arguments) {
    const auto [name, text] = input_and_rest(argument);
    Shape shape;
    if (is_tensor_file(text)) {
      const Tensor content = read_tensor(text);
      shape = content.shape();
      inputs.contents.emplace(name, content);
    } else {
      shape = Shape(parse_shape(argument, text));
    }
    const bool is_new = inputs.shapes.emplace(name, std::move(shape)).second;
    if (!is_new) fail_usage("--input {} is given twice", name);
  }
  return inputs;
}

std::map<std::string, Tensor> parse_values(const std::vector<std::string>& arguments,
                                           const Graph& graph) {
  std::map<std::string, Tensor> values;
  for (const auto& argument : arguments) {
    const auto [name, text] = name_and_rest(argument, "--value", "rate=16000");
    values[name] = parse_value(argument, input_named(graph, name), text);
  }
  return values;
}

std::int64_t count_or(const std::string& flag, const std::string& text, std::int64_t otherwise) {
  return text.empty() ? otherwise : parse_count(flag, text, 1);
}

std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t smallest) {
  const auto number = parse_integer(text);
  if (number && *number >= smallest) return *number;
  fail_usage("{} {}: expected an integer of at least {}", flag, text, smallest);
}

std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t smallest,
                         std::int64_t largest) {
  const auto number = parse_integer(text);
  if (number && *number >= smallest && *number <= largest) return *number;
  fail_usage("{} {}: expected a whole number from {} to {}", flag, text, smallest, largest);
}

double parse_decimal(const std::string& flag, const std::string& text, double smallest) {
  const auto number = finite_number(text);
  if (number && *number >= smallest) return *number;
  fail_usage("{} {}: expected a number from {:g} on", flag, text, smallest);
}

double parse_decimal(const std::string& flag, const std::string& text, double smallest,
                     double largest) {
  const auto number = finite_number(text);
  if (number && *number >= smallest && *number <= largest) return *number;
  fail_usage("{} {}: expected a number from {} to {}", flag, text, smallest, largest);
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const auto& precision : kPrecisions) names.emplace_back(precision.name);
  return names;
}

DataType parse_precision(const std::string& text) {
  for (const auto& precision : kPrecisions) {
    if (text == precision.name) return precision.type;
  }
  fail_usage("--precision {}: expected one of {}", text, join(precision_names(), ", "));
}

}  // namespace assay::cli
