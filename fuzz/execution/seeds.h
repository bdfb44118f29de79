// The models that mutants are made of: ONNX's own node tests, small networks of the zoo, chains of
// ops that engines fuse, and quantised networks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::fuzz {

struct Seed {
  std::string name;
  Graph graph;
};

// In an order that depends on nothing but the files' names. `testdata` holds node/NAME/model.onnx.
std::vector<Seed> all_seeds(const std::filesystem::path& testdata);

}  // namespace assay::fuzz
