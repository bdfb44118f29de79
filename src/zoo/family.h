// A network family of the zoo: its name, its parameters and how its graph is built. A family
// gets its settings checked against their ranges, and leaves axis 0 of its input free to be
// rebound.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/zoo.h"

namespace assay::zoo {

// Every parameter of the entry, by name.
using ZooSettings = std::map<std::string, std::int64_t, std::less<>>;

struct ZooFamily {
  ZooEntry entry;
  Graph (*build)(const ZooSettings& settings) = nullptr;
};

// A parameter that counts something: from 1 to `largest`.
ZooParameter size_parameter(std::string name, std::int64_t standard, std::int64_t largest,
                            std::string meaning);
ZooParameter batch_parameter(std::int64_t largest = 65536);

// Each in a file of its own, named after it.
std::vector<ZooFamily> mlp_family();
std::vector<ZooFamily> dense_family();
std::vector<ZooFamily> small_cnn_family();
std::vector<ZooFamily> lenet_family();
std::vector<ZooFamily> resnet_family();
std::vector<ZooFamily> vgg_family();
std::vector<ZooFamily> mobilenet_family();
std::vector<ZooFamily> vit_family();
std::vector<ZooFamily> gpt2_family();
std::vector<ZooFamily> encoder_family();
std::vector<ZooFamily> lstm_family();
std::vector<ZooFamily> stream_mlp_family();

}  // namespace assay::zoo
