// A model by its name: a path to an .onnx file, or zoo:NAME.
#pragma once

#include <string>

#include "assay/graph.h"

namespace assay {

// An Error names the built-in network that was probably meant, where the file does not exist.
Graph load_model(const std::string& name);
bool is_zoo_name(const std::string& name);  // "zoo:resnet18"

}  // namespace assay
