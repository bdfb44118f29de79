#include "python/src/model.h"

#include <algorithm>
#include <map>

#include "assay/infer.h"
#include "assay/load_model.h"
#include "assay/onnx.h"
#include "assay/timing.h"
#include "assay/zoo.h"
#include "base/fail.h"
#include "python/src/call.h"
#include "python/src/tensor.h"

namespace assay::python {

namespace {

template <typename Read>
Model timed_model(const Read& read, std::string name) {
  const std::int64_t start = steady_clock().nanoseconds();
  Graph graph = read();
  return {std::move(graph), std::move(name),
          static_cast<double>(steady_clock().nanoseconds() - start) * 1e-6};
}

Model model_named(const std::string& name, const py::object& progress) {
  return call(progress,
              [&](Progress&) { return timed_model([&] { return load_model(name); }, name); });
}

Model model_in(const py::buffer& buffer, const std::string& name, const py::object& progress) {
  const py::buffer_info info = buffer.request();
  if (PyBuffer_IsContiguous(info.view(), 'C') == 0) {
    fail_bad_input("{}: are not contiguous; bytes() makes a copy that is", name);
  }
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(info.ptr),
                                         static_cast<std::size_t>(info.size * info.itemsize));
  return call(progress,
              [&](Progress&) { return timed_model([&] { return read_onnx(bytes, name); }, name); });
}

// Inputs of these names become stored tensors, which share the memory of the arrays.
Model with_stored(const Model& model, const std::map<std::string, Tensor>& tensors) {
  const Graph& old = model.graph;
  Graph graph;
  graph.name = old.name;
  graph.doc = old.doc;
  graph.info = old.info;
  graph.opsets = old.opsets;
  graph.reserve(old.value_count(), old.node_count());
  for (const Value& value : old.values()) graph.add_value(value.name, value.type);
  for (const Initializer& stored : old.initializers()) {
    graph.add_initializer(stored.value, stored.tensor);
  }
  for (const ValueId id : old.inputs()) {
    const auto found = tensors.find(old.value(id).name);
    if (found == tensors.end()) {
      graph.add_input(id);
    } else {
      graph.add_initializer(id, found->second);
    }
  }
  for (const Node& node : old.nodes()) graph.add_node(node);
  for (const ValueId id : old.outputs()) graph.add_output(id);
  return {std::move(graph), model.name, model.read_ms};
}

// "layer1.0.conv1.weight" → "layer1.0.conv1"; empty for a name without a dot.
std::string module_of(const std::string& tensor) {
  const auto dot = tensor.rfind('.');
  return dot == std::string::npos ? "" : tensor.substr(0, dot);
}

// "/layer1/layer1.0/relu/Relu" → "layer1.0.relu": a part that repeats the path so far replaces it.
std::string module_path(const std::string& node) {
  std::string path;
  std::size_t begin = 1;
  for (auto end = node.find('/', begin); end != std::string::npos; end = node.find('/', begin)) {
    const std::string part = node.substr(begin, end - begin);
    path = part.starts_with(path + ".") || path.empty() ? part : path + "." + part;
    begin = end + 1;
  }
  return path;
}

std::string module_that_computes(const Graph& graph, const Node& node) {
  for (const ValueId input : node.inputs) {
    if (!input.is_valid()) continue;
    ValueId stored = input;
    const NodeId producer = graph.producer(input);  // a transposed weight
    if (producer.is_valid() && graph.node(producer).is("Transpose")) {
      stored = graph.node(producer).inputs.front();
    }
    const std::string& tensor = graph.value(stored).name;
    const bool is_constant_of_the_exporter = tensor.starts_with('/');
    if (graph.initializer(stored) == nullptr || is_constant_of_the_exporter) continue;
    const std::string module = module_of(tensor);
    if (!module.empty()) return module;
  }
  return node.name.starts_with('/') ? module_path(node.name) : "";
}

std::string without_prefix(const std::string& name, const std::string& prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// Nodes get the names of the modules that they come from, where exporters tell them. Several nodes
// of a module are told apart by their op. The module `root` holds the network: its name is no part
// of any other, and stands for the model's name.
Model named_by_modules(Model model, const std::string& root) {
  const std::string prefix = root.empty() ? "" : root + ".";
  std::map<std::string, int> taken;
  for (std::uint32_t i = 0; i < model.graph.node_count(); ++i) {
    Node& node = model.graph.node(NodeId{i});
    const std::string path = module_that_computes(model.graph, node);
    if (!root.empty()) node.name = without_prefix(node.name, "/" + root);
    const bool is_root = !root.empty() && path == root;
    const std::string module = is_root ? model.name : without_prefix(path, prefix);
    if (module.empty() || node.is("Transpose") || node.is("Identity")) continue;
    std::string name = module;
    if (taken[name]++ > 0) name = module + "." + node.op;
    const int before = name == module ? 0 : taken[name]++;
    node.name = before > 0 ? fmt::format("{}_{}", name, before) : name;
  }
  for (const Initializer& stored : model.graph.initializers()) {
    Value& value = model.graph.value(stored.value);
    value.name = without_prefix(value.name, prefix);
  }
  return model;
}

py::list values_of(const Graph& graph, std::span<const ValueId> ids) {
  py::list list;
  for (const ValueId id : ids) {
    if (graph.initializer(id) != nullptr) continue;
    const Value& value = graph.value(id);
    py::dict entry;
    entry["name"] = value.name;
    entry["type"] = std::string(name(value.type.element));
    entry["shape"] = py::none();
    if (value.type.shape) {
      py::list dims;
      for (const Dim& dim : *value.type.shape) {
        if (dim.is_known()) {
          dims.append(dim.value());
        } else {
          dims.append(dim.is_symbol() ? py::object(py::str(dim.symbol_name())) : py::none());
        }
      }
      entry["shape"] = py::tuple(dims);
    }
    list.append(entry);
  }
  return list;
}

py::dict stored_tensors(const Model& model) {
  py::dict tensors;
  for (const Initializer& stored : model.graph.initializers()) {
    tensors[py::str(model.graph.value(stored.value).name)] = array_of(stored.tensor, false);
  }
  return tensors;
}

// With inferred types where they can be: other tools need those of the outputs.
void save(const Model& model, const std::string& path, const py::object& progress) {
  call(progress, [&](Progress& reports) {
    Graph graph = model.graph;
    try {
      graph = infer_shapes(model.graph).graph;
    } catch (const Error&) {
      graph = model.graph;  // dimensions that are left open
    }
    write_onnx(graph, path, {}, &reports);
    return true;
  });
}

py::list zoo_list() {
  py::list list;
  for (const ZooEntry& entry : zoo_entries()) {
    py::list parameters;
    for (const ZooParameter& parameter : entry.parameters) {
      py::dict facts;
      facts["name"] = parameter.name;
      facts["default"] = parameter.standard;
      facts["meaning"] = parameter.meaning;
      parameters.append(facts);
    }
    py::dict facts;
    facts["name"] = entry.name;
    facts["summary"] = entry.summary;
    facts["parameters"] = parameters;
    list.append(facts);
  }
  return list;
}

}  // namespace

void bind_model(py::module_& module) {
  py::class_<Model>(module, "Model", "A model that was read once, for several calls.")
      .def_readwrite("name", &Model::name)
      .def_property_readonly("opset", [](const Model& model) { return model.graph.opset(); })
      .def_property_readonly(
          "inputs", [](const Model& model) { return values_of(model.graph, model.graph.inputs()); })
      .def_property_readonly(
          "outputs",
          [](const Model& model) { return values_of(model.graph, model.graph.outputs()); })
      .def_property_readonly("node_count",
                             [](const Model& model) { return model.graph.node_count(); })
      .def("tensors", &stored_tensors,
           "Stored tensors by name, as read-only arrays that share the model's memory.")
      .def("with_stored", &with_stored)
      .def("named_by_modules", &named_by_modules, py::arg("root") = "")
      .def("save", &save, "Writes the model as ONNX.", py::arg("path"),
           py::arg("progress") = py::none())
      .def("__repr__", [](const Model& model) {
        return fmt::format("assay.Model({}, {} nodes)", model.name, model.graph.node_count());
      });
  module.def("load_model", &model_named, py::arg("name"), py::arg("progress") = py::none());
  module.def("read_onnx", &model_in, py::arg("bytes"), py::arg("name"),
             py::arg("progress") = py::none());
  module.def("zoo", &zoo_list, "The built-in networks, with their parameters.");
}

}  // namespace assay::python
