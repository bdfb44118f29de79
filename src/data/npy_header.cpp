#include "data/npy_header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "base/text.h"

namespace assay::data {

namespace {

constexpr std::size_t kMostDims = 64;  // as NumPy

constexpr std::array<std::pair<DataType, std::string_view>, 14> kTypeNames = {{
    {DataType::Bool, "|b1"},
    {DataType::Int8, "|i1"},
    {DataType::UInt8, "|u1"},
    {DataType::Int16, "<i2"},
    {DataType::UInt16, "<u2"},
    {DataType::Int32, "<i4"},
    {DataType::UInt32, "<u4"},
    {DataType::Int64, "<i8"},
    {DataType::UInt64, "<u8"},
    {DataType::Float16, "<f2"},
    {DataType::Float32, "<f4"},
    {DataType::Float64, "<f8"},
    {DataType::Complex64, "<c8"},
    {DataType::Complex128, "<c16"},
}};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t first_byte, const std::string& file)
      : text_(text), first_byte_(first_byte), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (at_ != text_.size()) refuse("unexpected text after the dictionary");
    for (const auto& [key, seen] : seen_) {
      if (!seen) refuse(fmt::format("the dictionary has no '{}'", key));
    }
    return std::move(header_);
  }

 private:
  void parse_entry() {
    const std::size_t start = at_;
    const std::string_view key = parse_string();
    const auto known = std::find_if(seen_.begin(), seen_.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (known == seen_.end() || std::exchange(known->second, true)) {
      at_ = start;
      refuse(fmt::format("unknown or repeated key '{}'", without_control_characters(key)));
    }
    expect(':');
    if (key == "descr") header_.type = parse_type();
    if (key == "fortran_order") header_.fortran_order = parse_bool();
    if (key == "shape") header_.dims = parse_shape();
  }

  DataType parse_type() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '[') {
      refuse("records are not supported, save each field as an array of its own");
    }
    const std::size_t start = at_;
    const std::string descr = std::string(parse_string());
    if (const auto type = type_named(descr)) return *type;
    at_ = start;
    refuse_type(descr);
  }

  [[noreturn]] void refuse_type(const std::string& descr) const {
    const std::string shown = without_control_characters(descr);
    const std::string little = descr.empty() ? "" : '<' + descr.substr(1);
    if (descr.starts_with('>') && type_named(little)) {
      refuse(
          fmt::format("big-endian '{}' is not supported, save array.astype('{}')", shown, little));
    }
    if (descr.ends_with('O')) refuse("Python objects are not supported, save a numeric array");
    refuse(fmt::format(
        "element type '{}' is not supported, save a bool, int, float or complex array", shown));
  }

  // The byte order of single bytes does not matter; '=' is what this machine uses, little endian.
  static std::optional<DataType> type_named(std::string descr) {
    if (descr.size() < 2) return std::nullopt;
    const bool is_single_byte = descr.back() == '1' && descr.size() == 3;
    if (is_single_byte && std::string_view("<>=|").find(descr[0]) != std::string_view::npos) {
      descr[0] = '|';
    } else if (descr[0] == '=') {
      descr[0] = '<';
    }
    for (const auto& [type, known] : kTypeNames) {
      if (known == descr) return type;
    }
    return std::nullopt;
  }

  bool parse_bool() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      const std::string_view expected = word;
      if (!text_.substr(at_).starts_with(expected)) continue;
      at_ += expected.size();
      return value;
    }
    refuse("expected True or False");
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      if (dims.size() == kMostDims) refuse(fmt::format("more than {} dimensions", kMostDims));
      dims.push_back(parse_dim());
      if (accept(',')) continue;
      if (dims.size() == 1) refuse("expected ',': a shape of one dimension is written (n,)");
      expect(')');
      break;
    }
    return dims;
  }

  std::int64_t parse_dim() {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    const auto dim = parse_integer(text_.substr(start, at_ - start));
    if (!dim) {
      at_ = start;
      refuse("expected a dimension, a number from 0 to 2^63 - 1");
    }
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return *dim;
  }

  std::string_view parse_string() {
    skip_spaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      refuse("expected a quoted name");
    }
    const std::size_t start = at_ + 1;
    const std::size_t end = text_.find(text_[at_], start);
    if (end == std::string_view::npos) refuse("a quoted name without end");
    at_ = end + 1;
    return text_.substr(start, end - start);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) refuse(fmt::format("expected '{}'", wanted));
  }

  [[noreturn]] void refuse(const std::string& why) const {
    fail_bad_input("{}: header, byte {}: {}", file_, first_byte_ + at_, why);
  }

  std::string_view text_;
  std::size_t first_byte_ = 0;
  const std::string& file_;
  std::size_t at_ = 0;
  NpyHeader header_;
  std::array<std::pair<std::string_view, bool>, 3> seen_ = {
      {{"descr", false}, {"fortran_order", false}, {"shape", false}}};
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, std::size_t first_byte, const std::string& file) {
  return HeaderParser(text, first_byte, file).parse();
}

std::string_view numpy_name(DataType type) {
  for (const auto& [known, name] : kTypeNames) {
    if (known == type) return name;
  }
  return "";
}

std::string npy_dictionary(DataType type, const std::vector<std::int64_t>& dims) {
  std::string shape;
  for (const std::int64_t dim : dims) shape += fmt::format("{}, ", dim);
  if (dims.size() > 1) shape.resize(shape.size() - 2);
  if (dims.size() == 1) shape.pop_back();  // (3,) but (3, 4)
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", numpy_name(type),
                     shape);
}

}  // namespace assay::data
