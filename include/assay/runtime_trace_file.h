// Profiles that other runtimes write, read into a RuntimeTrace. The format is recognised by the
// content; the text is untrusted.
#pragma once

#include <string>
#include <string_view>

#include "assay/import_profile.h"

namespace assay {

// ONNX Runtime's profile, trtexec's --exportProfile, OpenVINO's benchmark_app counters (CSV or
// JSON), benchmark_model's CSV of LiteRT, a Chrome trace of torch.profiler. Throws an Error that
// names `described_as` and what is wrong.
RuntimeTrace parse_runtime_trace(std::string_view text, const std::string& described_as);
RuntimeTrace read_runtime_trace(const std::string& path);

}  // namespace assay
