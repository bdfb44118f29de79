#include "python/src/report.h"

#include "assay/page.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay::python {

namespace {

std::string text_in(const Report& report, const std::string& form) {
  const auto found = report.forms.find(form);
  if (found != report.forms.end()) return found->second();
  std::vector<std::string> known;
  for (const auto& [name, make] : report.forms) known.push_back(name);
  fail_usage("this result cannot be written as {}; there are {}", form, join(known, ", "));
}

py::bytes bytes_in(const Report& report, const std::string& form) {
  std::string text;
  {
    const py::gil_scoped_release released;
    text = text_in(report, form);
  }
  return py::bytes(text);
}

std::string table_of(const Report& report, std::size_t width, bool markdown) {
  const Layout layout{.width = width, .markdown = markdown};
  return finished(report.table(layout), layout);
}

std::string page_of(const std::string& document, const std::string& json) {
  return page_html({.documents = {{document, json}}});
}

}  // namespace

void bind_report(py::module_& module) {
  py::class_<Report>(module, "Report")
      .def_readonly("document", &Report::document)
      .def("table", &table_of, py::arg("width") = 80, py::arg("markdown") = false)
      .def("forms",
           [](const Report& report) {
             std::vector<std::string> names;
             for (const auto& [name, make] : report.forms) names.push_back(name);
             return names;
           })
      .def("render", &bytes_in, py::arg("form"));
  module.def("page_html", &page_of, py::arg("document"), py::arg("json"),
             py::call_guard<py::gil_scoped_release>());
}

}  // namespace assay::python
