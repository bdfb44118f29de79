// Reads the figures of a device, each checked; `where` is how messages call the place: file, device
// and field.
#pragma once

#include <string>
#include <vector>

#include "report/device_fields.h"
#include "store/json_reader.h"

namespace assay::store {

// That it is an object with no other keys; otherwise an Error with the nearest of them.
void check_object(const report::Json& value, const std::string& where,
                  const std::vector<std::string>& known);

// Text that is neither blank nor endless, and safe to print.
std::string text_of_field(const JsonReader& reader, const char* key, const std::string& where);

// One figure, a list of alternatives, or null for what is not known.
Figures figures_of(const report::Json& json, report::FigureUnit unit, const std::string& where);

}  // namespace assay::store
