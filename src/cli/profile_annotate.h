// --annotate: a copy of the model with the cost of its nodes as metadata.
#pragma once

#include <string>

#include "assay/profile.h"

namespace assay::cli {

// The model must be a file; otherwise an Error of kind Usage.
void check_can_be_annotated(const std::string& model, const std::string& copy);

void write_annotated(const Profile& profile, const std::string& model, const std::string& copy,
                     bool quiet);

}  // namespace assay::cli
