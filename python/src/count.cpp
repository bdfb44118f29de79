#include "assay/count.h"

#include "assay/count_report.h"
#include "assay/run.h"
#include "base/fail.h"
#include "base/text.h"
#include "python/src/call.h"
#include "python/src/model.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

struct StoredAs {
  const char* name;
  DataType type;
};
constexpr StoredAs kStoredAs[] = {{"fp64", DataType::Float64},     {"fp32", DataType::Float32},
                                  {"fp16", DataType::Float16},     {"bf16", DataType::BFloat16},
                                  {"fp8", DataType::Float8E4M3FN}, {"int8", DataType::Int8},
                                  {"int4", DataType::Int4}};

std::optional<DataType> stored_as(const std::string& precision) {
  if (precision.empty()) return {};
  std::vector<std::string> names;
  for (const StoredAs& known : kStoredAs) {
    if (precision == known.name) return known.type;
    names.emplace_back(known.name);
  }
  fail_usage("`precision` '{}': expected one of {}", precision, join(names, ", "));
}

Report report_of(CountResult result) {
  const auto shared = std::make_shared<const CountResult>(std::move(result));
  return {.document = "count.json",
          .table =
              [shared](const Layout& layout) {
                CountTableOptions options;
                options.layout = layout;
                return count_table(*shared, options);
              },
          .forms = {{"json", [shared] { return count_json(*shared); }},
                    {"csv", [shared] { return count_csv(*shared); }}}};
}

Report count(const Model& model, const RunOptions& run, const std::string& precision,
             const py::object& progress) {
  const CountOptions options{.bindings = run.bindings, .stored_as = stored_as(precision)};
  return call(progress, [&](Progress&) {
    return report_of(naming(model, [&] { return count_model(model.graph, model.name, options); }));
  });
}

}  // namespace

void bind_count(py::module_& module) {
  module.def("count", &count, py::arg("model"), py::arg("options"), py::arg("precision") = "",
             py::arg("progress") = py::none());
}

}  // namespace assay::python
