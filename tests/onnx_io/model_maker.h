// Small ONNX files for tests, encoded by protozero's own writer: an encoder independent of ours
// that can also write invalid models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "assay/onnx.h"
#include "support/error_message.h"

namespace assay::testing {

using Names = std::vector<std::string>;
using Messages = std::vector<std::string>;
using Dims = std::vector<std::int64_t>;

inline constexpr int kFloat = 1;
inline constexpr int kInt64 = 7;

inline std::string entry(std::string_view key, std::string_view value) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_string(1, key.data(), key.size());
  writer.add_string(2, value.data(), value.size());
  return out;
}

inline std::string opset(std::int64_t version, const std::string& domain = "") {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_string(1, domain);
  writer.add_int64(2, version);
  return out;
}

inline std::string tensor_type(int element, const Dims& dims) {
  std::string shape;
  protozero::pbf_writer shape_writer(shape);
  for (const auto dim : dims) {
    std::string message;
    protozero::pbf_writer(message).add_int64(1, dim);
    shape_writer.add_message(1, message);
  }
  std::string tensor;
  protozero::pbf_writer writer(tensor);
  writer.add_int32(1, element);
  writer.add_message(2, shape);
  std::string type;
  protozero::pbf_writer(type).add_message(1, tensor);
  return type;
}

inline std::string value_info(const std::string& name, const std::string& type) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_string(1, name);
  if (!type.empty()) writer.add_message(2, type);
  return out;
}

inline std::string value_info(const std::string& name, int element = kFloat,
                              const Dims& dims = {2}) {
  return value_info(name, tensor_type(element, dims));
}

// A TensorProto whose data field is left to `add_data`.
template <typename AddData>
std::string tensor_with(const std::string& name, int type, const Dims& dims, AddData add_data) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const auto dim : dims) writer.add_int64(1, dim);
  writer.add_int32(2, type);
  writer.add_string(8, name);
  add_data(writer);
  return out;
}

inline std::string raw_tensor(const std::string& name, int type, const Dims& dims,
                              const std::string& bytes) {
  return tensor_with(name, type, dims, [&](auto& writer) { writer.add_bytes(9, bytes); });
}

inline std::string external_tensor(const std::string& name, const Dims& dims,
                                   const std::vector<std::pair<std::string, std::string>>& keys) {
  return tensor_with(name, kFloat, dims, [&](auto& writer) {
    for (const auto& [key, value] : keys) writer.add_message(13, entry(key, value));
    writer.add_int32(14, 1);
  });
}

template <typename AddValue>
std::string attribute(const std::string& name, int kind, AddValue add_value) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_string(1, name);
  add_value(writer);
  writer.add_int32(20, kind);
  return out;
}

inline std::string int_attribute(const std::string& name, std::int64_t value) {
  return attribute(name, 2, [&](auto& writer) { writer.add_int64(3, value); });
}

inline std::string float_attribute(const std::string& name, float value) {
  return attribute(name, 1, [&](auto& writer) { writer.add_float(2, value); });
}

inline std::string tensor_attribute(const std::string& name, const std::string& tensor) {
  return attribute(name, 4, [&](auto& writer) { writer.add_message(5, tensor); });
}

inline std::string graph_attribute(const std::string& name, const std::string& graph) {
  return attribute(name, 5, [&](auto& writer) { writer.add_message(6, graph); });
}

inline std::string reference_attribute(const std::string& name, int kind,
                                       const std::string& refers_to) {
  return attribute(name, kind, [&](auto& writer) { writer.add_string(21, refers_to); });
}

inline std::string node(const std::string& op, const Names& inputs, const Names& outputs,
                        const Messages& attributes = {}, const std::string& domain = "",
                        const std::string& name = "") {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const auto& input : inputs) writer.add_string(1, input);
  for (const auto& output : outputs) writer.add_string(2, output);
  if (!name.empty()) writer.add_string(3, name);
  writer.add_string(4, op);
  for (const auto& message : attributes) writer.add_message(5, message);
  if (!domain.empty()) writer.add_string(7, domain);
  return out;
}

struct GraphParts {
  Messages nodes = {};
  Messages initializers = {};
  Messages inputs = {value_info("x")};
  Messages outputs = {value_info("y")};
  Messages value_infos = {};
  std::string name = "g";
};

inline std::string graph(const GraphParts& parts) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const auto& message : parts.nodes) writer.add_message(1, message);
  writer.add_string(2, parts.name);
  for (const auto& message : parts.initializers) writer.add_message(5, message);
  for (const auto& message : parts.inputs) writer.add_message(11, message);
  for (const auto& message : parts.outputs) writer.add_message(12, message);
  for (const auto& message : parts.value_infos) writer.add_message(13, message);
  return out;
}

// The body of an If branch or the like: no inputs, one output.
inline std::string branch(const Messages& nodes, const std::string& output,
                          const Messages& initializers = {}) {
  return graph({.nodes = nodes,
                .initializers = initializers,
                .inputs = {},
                .outputs = {value_info(output)},
                .name = "branch"});
}

struct FunctionParts {
  std::string name = {};
  Names inputs = {};
  Names outputs = {};
  Messages nodes = {};
  std::string domain = "local";
  Messages opsets = {opset(17)};
  Messages defaults = {};
};

inline std::string function(const FunctionParts& parts) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_string(1, parts.name);
  for (const auto& input : parts.inputs) writer.add_string(4, input);
  for (const auto& output : parts.outputs) writer.add_string(5, output);
  for (const auto& message : parts.nodes) writer.add_message(7, message);
  for (const auto& message : parts.opsets) writer.add_message(9, message);
  writer.add_string(10, parts.domain);
  for (const auto& message : parts.defaults) writer.add_message(11, message);
  return out;
}

inline std::string model(const std::string& graph_message, const Messages& opsets = {opset(17)},
                         const Messages& functions = {}) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_int64(1, 8);
  writer.add_string(2, "model_maker");
  for (const auto& message : opsets) writer.add_message(8, message);
  writer.add_message(7, graph_message);
  for (const auto& message : functions) writer.add_message(25, message);
  return out;
}

inline std::string model_with_nodes(const Messages& nodes, const Messages& initializers = {}) {
  return model(graph({.nodes = nodes, .initializers = initializers}));
}

inline Graph read_bytes(const std::string& bytes) {
  return read_onnx(std::as_bytes(std::span(bytes)), "test.onnx");
}

inline std::string refusal_of(const std::string& bytes) {
  return error_message([&] { read_bytes(bytes); });
}

// A folder that disappears with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    const auto file = path_ / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(path_)) {
      names.push_back(file.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline std::string refusal_of_file(const std::filesystem::path& path) {
  return error_message([&] { read_onnx(path); });
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

}  // namespace assay::testing
