// Times of nodes as Model Explorer's custom node data. Its ONNX adapter identifies nodes by name; a
// node without one can be matched by the tensor it writes, which is then its name here.
#include "assay/profile_report.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

// White to red, dark enough for black text to stay readable.
Json gradient_json() {
  return {{{"stop", 0}, {"bgColor", "#ffffff"}}, {{"stop", 1}, {"bgColor", "#f28e7a"}}};
}

}  // namespace

std::string profile_node_data(const Profile& profile) {
  Json results = Json::object();
  for (const ProfileLayer& layer : profile.layers) {
    const bool is_node = layer.cost.node.is_valid();
    if (is_node && layer.time_ms) results[layer.cost.name] = {{"value", *layer.time_ms}};
  }
  const Json document = {{"name", "time in ms (" + profile.model.name + ")"},
                         {"results", std::move(results)},
                         {"gradient", gradient_json()}};
  return indented_text_of(document) + "\n";
}

}  // namespace assay
