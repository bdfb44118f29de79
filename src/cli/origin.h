// Which program and which command made a result: part of every result in JSON, so that a stored one
// can be traced and repeated.
#pragma once

#include <string>

namespace assay::cli {

// `json` with "made_by": version, command, compiler and libraries, behind its schema. Text that
// does not begin with a schema, and files that are read back key by key, are returned as they are.
std::string with_origin(std::string json);

}  // namespace assay::cli
