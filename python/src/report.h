// What every command gives: one result in several forms, each made when it is asked for.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "assay/layout.h"
#include "python/src/bindings.h"

namespace assay::python {

struct Report {
  std::string document;  // the name of its JSON file
  std::function<std::string(const Layout&)> table;
  std::map<std::string, std::function<std::string()>> forms;  // "json", "csv", "png", …
};

}  // namespace assay::python
