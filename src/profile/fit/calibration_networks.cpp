#include "assay/fit.h"
#include "assay/zoo.h"
#include "profile/fit/calibration_probes.h"

namespace assay {

using namespace assay::profile;

// Networks of every kind, small and large, at more than one batch size.
std::vector<CalibrationNetwork> calibration_networks() {
  std::vector<CalibrationNetwork> all;
  for (const char* name : {"mlp", "mlp:batch=64", "small_cnn", "small_cnn_gap:batch=32", "lenet5",
                           "stream_mlp", "lstm", "encoder", "mobilenet_v2", "mobilenet_v2:batch=8",
                           "resnet18", "resnet50", "vgg16", "vit_b16", "gpt2_small"}) {
    const std::string text = name;
    std::string family = text.substr(0, text.find(':'));
    if (family == "small_cnn_gap") family = "small_cnn";
    all.push_back({text, family, [text] { return zoo_model(text); }});
  }
  for (auto& probe : calibration_probes()) all.push_back(std::move(probe));
  return all;
}

}  // namespace assay
