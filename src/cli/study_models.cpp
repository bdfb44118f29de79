#include "cli/study_models.h"

#include "base/fail.h"
#include "cli/model_argument.h"

namespace assay::cli {

std::string zoo_spec(const std::string& model) {
  if (is_zoo_name(model)) return model.substr(model.find(':') + 1);
  fail_bad_input(
      "{}: only networks of the zoo have parameters to vary ('assay zoo' lists them); 'assay study "
      "batch' takes any model",
      model);
}

std::string cached_model(const StudyArguments& arguments) {
  if (!arguments.cached.empty()) return arguments.cached;
  constexpr std::string_view kFamily = "zoo:gpt2_small";
  const std::string& model = arguments.model.model;
  const bool is_family = model == kFamily || model.starts_with(std::string(kFamily) + ":");
  if (!is_family) {
    fail_usage("--cached MODEL is required: the form of {} that takes past keys and values", model);
  }
  return std::string(kFamily) + "_decode" + model.substr(kFamily.size());
}

}  // namespace assay::cli
