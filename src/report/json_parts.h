// Parts that several JSON reports share.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "assay/count.h"
#include "report/display_names.h"

namespace assay::report {

using Json = nlohmann::ordered_json;

Json shape_json(const std::optional<Shape>& shape);
Json model_json(const ModelSummary& model);
Json edges_json(const std::vector<ModelEdge>& edges);  // [[from, to], …]
Json buffers_json(const std::vector<NamedBuffer>& buffers);
Json totals_json(const CostTotals& totals, std::int64_t peak_activation_bytes,
                 std::int64_t stored_bytes, const std::vector<UncountedOp>& uncounted);

// Name, op, output shape and every figure; an unknown cost is null, never 0. `label` is the name
// that people read, where it differs.
Json layer_json(const LayerCost& layer, const DisplayNames& names);

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Names in a file may be arbitrary bytes; those that are not UTF-8 are replaced.
std::string text_of(const Json& json);
std::string indented_text_of(const Json& json);  // for files that people open

// Reports of the same kind as one object: {"schema":…,"results":[report,…]}.
std::string results_json(std::string_view schema, std::span<const std::string> reports);

// {"key":…,"rows":[row,…],"key":…}: `rows` one by one, a line each. A tree of 100,000 of them would
// cost more than counting them.
class JsonWriter {
 public:
  void field(std::string_view key, const Json& value);
  void begin_list(std::string_view key);
  void item(const Json& value);
  void end_list();
  std::string finish();

 private:
  void key(std::string_view name);

  std::string text_ = "{";
  bool is_first_field_ = true;
  bool is_first_item_ = true;
};

}  // namespace assay::report
