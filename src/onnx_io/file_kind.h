// Recognises files that are no ONNX models but are often mistaken for one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::onnx {

// A sentence that says what the file is instead of an ONNX model; nothing if it may be one.
std::optional<std::string> what_it_is_instead(std::string_view bytes);

}  // namespace assay::onnx
