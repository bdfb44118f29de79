#include "onnx_io/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace assay::onnx {

namespace {

using std::string_view_literals::operator""sv;

struct Signature {
  std::size_t offset = 0;
  std::string_view bytes = {};
  std::string_view sentence = {};
};

constexpr std::array kSignatures = {
    Signature{0, "version https://git-lfs"sv,
              "is a Git LFS pointer, not the model itself: fetch it with `git lfs pull`"},
    Signature{0, "PK\x03\x04"sv,
              "is a zip archive, not an ONNX model: unpack it, or if it is a PyTorch checkpoint "
              "export it with torch.onnx.export"},
    Signature{0, "\x1f\x8b"sv, "is compressed with gzip, not an ONNX model: unpack it first"},
    Signature{0, "\x89HDF\r\n\x1a\n"sv,
              "is an HDF5 file, perhaps of Keras, not an ONNX model: convert it with tf2onnx"},
    Signature{4, "TFL3"sv, "is a TensorFlow Lite model, not an ONNX model: convert it first"},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view lower_case) {
  return text.size() >= lower_case.size() &&
         std::equal(lower_case.begin(), lower_case.end(), text.begin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

bool is_html(std::string_view head) {
  const auto start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  head.remove_prefix(start);
  return starts_with_ignoring_case(head, "<!doctype") || starts_with_ignoring_case(head, "<html");
}

// A model has control characters among its first bytes: field tags and lengths.
bool is_text(std::string_view head) {
  return std::ranges::all_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

std::optional<std::string> what_it_is_instead(std::string_view bytes) {
  if (bytes.empty()) return "is empty, not an ONNX model";
  for (const auto& signature : kSignatures) {
    if (bytes.substr(std::min(signature.offset, bytes.size())).starts_with(signature.bytes)) {
      return std::string(signature.sentence);
    }
  }
  const std::string_view head = bytes.substr(0, 512);
  if (is_html(head)) {
    return "is a web page, not an ONNX model: the download went wrong, fetch the raw file";
  }
  if (is_text(head)) return "is a text file, not an ONNX model";
  return std::nullopt;
}

}  // namespace assay::onnx
