#include "report/charts/chart_title.h"

#include <cctype>

namespace assay::report {

std::string model_title(std::string_view name) {
  constexpr std::string_view kZoo = "zoo:";
  constexpr std::string_view kOnnx = ".onnx";
  if (name.starts_with(kZoo)) return std::string(name.substr(kZoo.size()));
  std::string_view stem = name.substr(name.find_last_of('/') + 1);
  if (stem.ends_with(kOnnx) && stem.size() > kOnnx.size()) stem.remove_suffix(kOnnx.size());
  return std::string(stem.empty() ? name : stem);
}

std::string chart_title(std::string_view model, std::string what) {
  if (!model.empty()) return model_title(model) + ": " + what;
  if (!what.empty()) what[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(what[0])));
  return what;
}

}  // namespace assay::report
