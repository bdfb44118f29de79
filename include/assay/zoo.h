// Built-in networks with deterministic seeded weights, made when they are asked for. Weights are
// generated only when they are read, so counting a large network costs nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/graph.h"

namespace assay {

struct ZooParameter {
  std::string name;
  std::int64_t standard = 0;  // the value when none is given
  std::int64_t smallest = 1;
  std::int64_t largest = 1;
  std::string meaning;
};

struct ZooEntry {
  std::string name;
  std::string summary;
  std::vector<ZooParameter> parameters;
};

std::span<const ZooEntry> zoo_entries();

// `spec` is a name, or a name with parameters: "encoder:layers=4,width=256". An unknown name or
// parameter is an Error that names the nearest known one.
Graph zoo_model(std::string_view spec);

// The same network with weights drawn anew, in the ranges of the old ones.
Graph redrawn(const Graph& network, std::uint64_t seed);

}  // namespace assay
