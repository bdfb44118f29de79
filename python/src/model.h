// A model as Python holds it: the graph, and what people call it.
#pragma once

#include <string>

#include "assay/error.h"
#include "assay/graph.h"
#include "python/src/bindings.h"

namespace assay::python {

struct Model {
  Graph graph;
  std::string name;
  std::optional<double> read_ms = {};  // what reading it took
};

// What is wrong with a model is said with its name.
template <typename Work>
auto naming(const Model& model, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadInput) throw;
    throw Error(error.kind(), model.name + ": " + error.what());
  }
}

}  // namespace assay::python
