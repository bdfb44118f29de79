// Reads and checks the figures of a device. `where` names the file, device and field in messages.
#pragma once

#include <string>
#include <vector>

#include "report/device_fields.h"
#include "store/json_reader.h"

namespace assay::store {

// Checks that it is an object with no other keys; otherwise the Error suggests the nearest one.
void check_object(const report::Json& value, const std::string& where,
                  const std::vector<std::string>& known);

// Text that is not blank, not too long, and safe to print.
std::string text_of_field(const JsonReader& reader, const char* key, const std::string& where);

// One figure, a list of alternatives, or null for what is not known.
Figures figures_of(const report::Json& json, report::FigureUnit unit, const std::string& where);

}  // namespace assay::store
