// The layers of assay/layers.h, each a model of its own.
#include "assay/layers.h"

#include "base/fail.h"
#include "python/src/model.h"

namespace assay::python {

namespace {

// A layer and its name: it is a model, and part of a Sequential.
struct NamedLayer {
  Layer layer;
  std::string name;

  Model model() const { return {Graph(layer), name}; }
};

NamedLayer linear(std::int64_t in_features, std::int64_t out_features, bool bias,
                  const std::string& name) {
  if (in_features < 1 || out_features < 1) {
    fail_usage("Linear({}, {}): sizes are at least 1", in_features, out_features);
  }
  return {Linear(in_features, out_features, {.bias = bias, .name = name}), name};
}

NamedLayer conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
                  std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                  std::int64_t groups, bool bias, const std::string& name) {
  if (in_channels < 1 || out_channels < 1 || kernel_size < 1 || stride < 1 || padding < 0 ||
      dilation < 1 || groups < 1 || in_channels % groups != 0 || out_channels % groups != 0) {
    fail_usage("Conv2d({}, {}, {}): sizes, stride, padding or groups are out of range", in_channels,
               out_channels, kernel_size);
  }
  const Conv2dOptions options{.stride = stride,
                              .padding = padding,
                              .dilation = dilation,
                              .groups = groups,
                              .bias = bias,
                              .name = name};
  return {Conv2d(in_channels, out_channels, kernel_size, options), name};
}

NamedLayer sequential(const std::vector<NamedLayer>& layers) {
  if (layers.empty()) fail_usage("Sequential: there is no layer");
  std::vector<Layer> parts;
  for (const NamedLayer& part : layers) parts.push_back(part.layer);
  return {Sequential(std::move(parts)), "sequential"};
}

using Activation = Layer (*)(std::string);

void add_activation(py::module_& module, const char* name, Activation make, const char* usual,
                    const char* doc) {
  module.def(
      name,
      [make](const std::string& called) {
        return NamedLayer{make(called), called};
      },
      doc, py::arg("name") = usual);
}

}  // namespace

void bind_layers(py::module_& module) {
  py::class_<NamedLayer>(module, "Layer", "A layer: a model of its own, and part of a Sequential.")
      .def_readonly("name", &NamedLayer::name)
      .def("model", &NamedLayer::model)
      .def("__repr__",
           [](const NamedLayer& layer) { return fmt::format("assay.Layer({})", layer.name); });
  module.def("Linear", &linear, "y = x·W + b over the last axis.", py::arg("in_features"),
             py::arg("out_features"), py::arg("bias") = true, py::arg("name") = "linear");
  module.def("Conv2d", &conv2d, "A convolution over images, channels first.",
             py::arg("in_channels"), py::arg("out_channels"), py::arg("kernel_size"),
             py::arg("stride") = 1, py::arg("padding") = 0, py::arg("dilation") = 1,
             py::arg("groups") = 1, py::arg("bias") = true, py::arg("name") = "conv");
  module.def(
      "MaxPool2d",
      [](std::int64_t kernel, std::int64_t stride, std::int64_t padding, const std::string& name) {
        if (kernel < 1 || stride < 0 || padding < 0)
          fail_usage("MaxPool2d({}): out of range", kernel);
        return NamedLayer{MaxPool2d(kernel, {.stride = stride, .padding = padding, .name = name}),
                          name};
      },
      "The largest of each window; a stride of 0 is the window's size.", py::arg("kernel_size"),
      py::arg("stride") = 0, py::arg("padding") = 0, py::arg("name") = "pool");
  module.def(
      "BatchNorm2d",
      [](std::int64_t channels, const std::string& name) {
        if (channels < 1) fail_usage("BatchNorm2d({}): sizes are at least 1", channels);
        return NamedLayer{BatchNorm2d(channels, name), name};
      },
      "Normalises each channel by its running statistics.", py::arg("num_features"),
      py::arg("name") = "bn");
  module.def("Sequential", &sequential, "Layers one after the other.", py::arg("layers"));
  add_activation(module, "Relu", &Relu, "relu", "max(x, 0).");
  add_activation(module, "Sigmoid", &Sigmoid, "sigmoid", "1 / (1 + exp(-x)).");
  add_activation(module, "Tanh", &Tanh, "tanh", "The hyperbolic tangent.");
  add_activation(module, "Gelu", &Gelu, "gelu", "x/2 · (1 + erf(x/√2)).");
  add_activation(module, "Flatten", &Flatten, "flatten", "All axes but the first as one.");
  add_activation(module, "GlobalAvgPool2d", &GlobalAvgPool2d, "global_pool",
                 "The mean of each channel.");
  module.def(
      "Softmax",
      [](std::int64_t axis, const std::string& name) {
        return NamedLayer{Softmax(axis, name), name};
      },
      "Shares that sum to 1 along an axis.", py::arg("axis") = -1, py::arg("name") = "softmax");
}

}  // namespace assay::python
