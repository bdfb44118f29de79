#include "report/charts/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace assay::report {

namespace {

std::string superscript(int number) {
  static const char* const kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (const char c : std::to_string(number)) text += c == '-' ? "⁻" : kDigits[c - '0'];
  return text;
}

std::string tick_text(int multiple, int exponent) {
  if (exponent < -3 || exponent > 4) {
    return (multiple == 1 ? "10" : std::to_string(multiple) + "·10") + superscript(exponent);
  }
  return fmt::format("{:.{}f}", multiple * std::pow(10, exponent), std::max(0, -exponent));
}

// The smallest of 1, 2, 5, 10, … times a power of ten that is not below the number.
double round_step(double number) {
  const double power = std::pow(10, std::floor(std::log10(number)));
  for (const double multiple : {1.0, 2.0, 5.0}) {
    if (multiple * power >= number * (1 - 1e-9)) return multiple * power;
  }
  return 10 * power;
}

}  // namespace

double LogRange::place(double number) const {
  return std::log(number / low) / std::log(high / low);
}

double LogRange::number(double place) const {
  return low * std::pow(high / low, place);
}

std::vector<Tick> ticks_of(const LogRange& range, std::size_t most) {
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::ceil(std::log10(range.high)));
  const int step = 1 + (last - first) / static_cast<int>(most);
  const bool is_short = last - first <= 3 && most >= 8;
  std::vector<Tick> ticks;
  for (int exponent = first; exponent <= last; ++exponent) {
    for (int multiple = 1; multiple <= (step == 1 ? 9 : 1); ++multiple) {
      const double number = multiple * std::pow(10, exponent);
      if (number < range.low || number > range.high) continue;
      const bool is_labelled =
          multiple == 1 ? exponent % step == 0 : is_short && (multiple == 2 || multiple == 5);
      ticks.push_back({number, is_labelled ? tick_text(multiple, exponent) : ""});
    }
  }
  return ticks;
}

std::vector<Tick> ticks_of(const LinearRange& range, std::size_t most) {
  const double step = round_step((range.high - range.low) / static_cast<double>(most));
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  std::vector<Tick> ticks;
  for (double multiple = std::ceil(range.low / step); multiple * step <= range.high; ++multiple) {
    ticks.push_back({multiple * step, fmt::format("{:.{}f}", multiple * step + 0.0, decimals)});
  }
  return ticks;
}

}  // namespace assay::report
