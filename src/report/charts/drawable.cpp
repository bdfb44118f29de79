#include "base/utf8.h"
#include "report/charts/lettering.h"

namespace assay::report {

namespace {

// The bytes of the character that the text begins with; 0 if it begins with none.
std::size_t first_length(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    if (is_utf8(text.substr(0, length))) return length;
  }
  return 0;
}

// XML forbids the last two, and cairo would cut the text at the first control character.
bool has_no_shape(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  const bool is_control = lead < 0x20 || lead == 0x7f || (lead == 0xc2 && character < "\xc2\xa0");
  return is_control || character == "\uFFFE" || character == "\uFFFF";
}

}  // namespace

std::string drawable(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = first_length(text);
    const std::string_view next = text.substr(0, length);
    clean += length == 0 || has_no_shape(next) ? std::string_view("\uFFFD") : next;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

}  // namespace assay::report
