// Recognises the format of a runtime's profile by its content.
#include <array>
#include <charconv>
#include <cmath>

#include "assay/runtime_trace_file.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "store/imported_formats.h"
#include "store/strict_json.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr std::size_t kLargestTrace = std::size_t{1} << 30;  // bytes

struct JsonFormat {
  bool (*is_it)(const report::Json& root);
  RuntimeTrace (*read)(const report::Json& root, const std::string& file);
};
constexpr std::array kJsonFormats = {
    JsonFormat{is_onnxruntime, read_onnxruntime}, JsonFormat{is_trtexec, read_trtexec},
    JsonFormat{is_openvino, read_openvino}, JsonFormat{is_torch, read_torch}};

struct TextFormat {
  bool (*is_it)(std::string_view text);
  RuntimeTrace (*read)(std::string_view text, const std::string& file);
};
constexpr std::array kTextFormats = {TextFormat{is_openvino_text, read_openvino_text},
                                     TextFormat{is_litert_text, read_litert_text}};

constexpr const char* kKnown =
    "a profile of ONNX Runtime (JSON), trtexec --exportProfile, OpenVINO's benchmark_app "
    "-report_type detailed_counters, LiteRT's benchmark_model --profiling_output_csv_file, or a "
    "Chrome trace of torch.profiler";

std::string_view without_margins(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::string_view kSpaces = " \t\r\n";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

void check_is_whole(std::string_view json, const std::string& file) {
  const char closing = json.front() == '[' ? ']' : '}';
  if (json.back() == closing) return;
  fail_bad_input(
      "{}: ends in the middle; ONNX Runtime completes its profile at end_profiling() or "
      "when the session is released, other tools when they exit",
      file);
}

RuntimeTrace parse_json_trace(std::string_view text, const std::string& file) {
  check_is_whole(text, file);
  const report::Json root = strict_json(text, file, kLargestTrace);
  for (const JsonFormat& format : kJsonFormats) {
    if (format.is_it(root)) return format.read(root, file);
  }
  if (root.is_object() && root.contains("schema")) {
    fail_bad_input("{}: is a result of assay itself; 'assay report' and 'assay compare' read it",
                   file);
  }
  fail_bad_input("{}: is JSON, but not {}", file, kKnown);
}

RuntimeTrace parse_text_trace(std::string_view text, const std::string& file) {
  if (!is_utf8(text)) fail_bad_input("{}: is not text (UTF-8); expected {}", file, kKnown);
  for (const TextFormat& format : kTextFormats) {
    if (format.is_it(text)) return format.read(text, file);
  }
  fail_bad_input("{}: is not {}", file, kKnown);
}

// A trace without time has no parts to show.
void check_has_times(const RuntimeTrace& trace) {
  double sum_ms = 0;
  for (const RuntimeKernel& kernel : trace.kernels) {
    for (const double run_ms : kernel.run_ms) sum_ms += run_ms;
  }
  if (sum_ms > 0) return;
  fail_bad_input("{}: this profile of {} holds no kernel that took time", trace.file,
                 trace.runtime);
}

}  // namespace

double store::imported_milliseconds(std::string_view text, const std::string& file,
                                    const std::string& what) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || !std::isfinite(value) || value < 0) {
    fail_bad_input("{}: {} is '{}', not a number of milliseconds", file, what, text);
  }
  return value;
}

RuntimeTrace parse_runtime_trace(std::string_view text, const std::string& described_as) {
  const std::string_view content = without_margins(text);
  if (content.empty()) fail_bad_input("{}: is empty; expected {}", described_as, kKnown);
  const bool is_json = content.front() == '[' || content.front() == '{';
  RuntimeTrace trace =
      is_json ? parse_json_trace(content, described_as) : parse_text_trace(content, described_as);
  check_has_times(trace);
  return trace;
}

RuntimeTrace read_runtime_trace(const std::string& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  RuntimeTrace trace = parse_runtime_trace(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), path);
  file->check_intact();
  return trace;
}

}  // namespace assay
