// The formats of runtimes' profiles: each has a function that recognises it and one that reads it.
#pragma once

#include <string>
#include <string_view>

#include "assay/import_profile.h"
#include "report/json_parts.h"

namespace assay::store {

// imported_onnxruntime.cpp: an array of events, one per kernel and run.
bool is_onnxruntime(const report::Json& root);
RuntimeTrace read_onnxruntime(const report::Json& root, const std::string& file);
// imported_torch.cpp: a Chrome trace with nested operators.
bool is_torch(const report::Json& root);
RuntimeTrace read_torch(const report::Json& root, const std::string& file);
// imported_trtexec.cpp: an array of layers with mean times.
bool is_trtexec(const report::Json& root);
RuntimeTrace read_trtexec(const report::Json& root, const std::string& file);
// imported_openvino.cpp: counters of every layer, as JSON or separated by semicolons.
bool is_openvino(const report::Json& root);
RuntimeTrace read_openvino(const report::Json& root, const std::string& file);
bool is_openvino_text(std::string_view text);
RuntimeTrace read_openvino_text(std::string_view text, const std::string& file);
// imported_litert.cpp: tables of mean times, separated by commas.
bool is_litert_text(std::string_view text);
RuntimeTrace read_litert_text(std::string_view text, const std::string& file);

// A time in milliseconds; throws an Error naming `what` if it is none.
double imported_milliseconds(std::string_view text, const std::string& file,
                             const std::string& what);

}  // namespace assay::store
