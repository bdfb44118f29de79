// The headings of charts.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

// A model as people call it: "/models/resnet50.onnx" and "zoo:resnet50" are "resnet50".
std::string model_title(std::string_view name);

// "resnet50: time per layer"; without a model "Time per layer".
std::string chart_title(std::string_view model, std::string what);

}  // namespace assay::report
