#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace assay {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string join_dims(std::span<const std::int64_t> dims) {
  return fmt::format("{}", fmt::join(dims.begin(), dims.end(), "x"));
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string with_thousands(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

namespace {

template <std::size_t N>
std::string scaled(double number, double step, const std::array<const char*, N>& units) {
  std::size_t unit = 0;
  while (std::abs(number) >= step * 0.9995 && unit + 1 < N) {
    number /= step;
    ++unit;
  }
  const int decimals = unit == 0                  ? 0
                       : std::abs(number) < 9.995 ? 2
                       : std::abs(number) < 99.95 ? 1
                                                  : 0;
  return fmt::format("{:.{}f}{}", number, decimals, units[unit]);
}

}  // namespace

std::string with_si_suffix(double number) {
  return scaled<7>(number, 1000.0, {"", " k", " M", " G", " T", " P", " E"});
}

std::string with_si_unit(double number, std::string_view unit) {
  std::string text = with_si_suffix(number);
  if (text.find(' ') == std::string::npos) text += ' ';
  return text + std::string(unit);
}

std::string with_binary_unit(double bytes) {
  return scaled<6>(bytes, 1024.0, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"});
}

std::string with_decimal(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

TimeUnit time_unit(double milliseconds) {
  if (milliseconds < 0.9995) return {0.001, "µs"};
  if (milliseconds < 9999.5) return {1, "ms"};
  return {1000, "s"};
}

std::string time_in(TimeUnit unit, double milliseconds) {
  // Four digits: more would mean nothing in a measurement within one percent.
  const double number = milliseconds / unit.milliseconds;
  const int decimals = number < 9.9995 ? 3 : number < 99.995 ? 2 : number < 999.95 ? 1 : 0;
  return fmt::format("{:.{}f}", number, decimals);
}

std::string duration_text(double milliseconds) {
  const TimeUnit unit = time_unit(milliseconds);
  return time_in(unit, milliseconds) + " " + unit.name;
}

std::string interval_text(double value, double low, double high) {
  if (!(value > 0)) return "";
  const auto percent = [&](double distance) {
    const double share = 100 * distance / value;
    return fmt::format("{:.{}f}", share, share < 9.95 ? 1 : 0);
  };
  const std::string below = percent(value - low);
  const std::string above = percent(high - value);
  return below == above ? fmt::format("±{} %", above) : fmt::format("−{}/+{} %", below, above);
}

namespace {

// Bytes of the control character that the text begins with, in UTF-8; 0 if it begins with none.
// Those beyond ASCII: U+0080 to U+009F, line separators, marks that change the writing direction.
std::size_t control_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto is_within = [](unsigned value, unsigned first, unsigned last) {
    return value >= first && value <= last;
  };
  if (at(0) < 0x20 || at(0) == 0x7f) return 1;
  if (at(0) == 0xc2 && is_within(at(1), 0x80, 0x9f)) return 2;
  if (at(0) != 0xe2) return 0;
  const bool is_separator_or_mark =
      at(1) == 0x80 && (is_within(at(2), 0xa8, 0xae) || is_within(at(2), 0x8e, 0x8f));
  const bool is_isolate = at(1) == 0x81 && is_within(at(2), 0xa6, 0xa9);
  return is_separator_or_mark || is_isolate ? 3 : 0;
}

}  // namespace

std::string without_control_characters(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t control = control_bytes(text);
    safe += control > 0 ? '?' : text.front();
    text.remove_prefix(std::max<std::size_t>(1, control));
  }
  return safe;
}

std::string rate_text(std::optional<double> number) {
  if (!number) return "-";
  if (*number >= 999.5) return with_thousands(std::llround(std::min(*number, 1e15)));
  const int decimals = *number < 9.995 ? 2 : *number < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", *number, decimals);
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const auto starts_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;  // not a UTF-8 continuation byte
  };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestCompared = 200;  // The distance is quadratic in the length.
  if (word.size() > kLongestCompared) return std::nullopt;
  std::optional<std::string> best;
  std::size_t smallest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= smallest) continue;
    smallest = distance;
    best = candidate;
  }
  return best;
}

}  // namespace assay
