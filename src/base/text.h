// Small text helpers: splitting, joining, strict number parsing, human-readable figures, and the
// nearest known word for a mistyped one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string join_dims(std::span<const std::int64_t> dims);  // "1x3x224x224"

// The whole text must be one decimal integer.
std::optional<std::int64_t> parse_integer(std::string_view text);

std::string with_thousands(std::int64_t number);                 // "1,814,073,344"
std::string with_si_suffix(double number);                       // "1.81 G"
std::string with_si_unit(double number, std::string_view unit);  // "1.81 GFLOPs", "96 FLOPs"
std::string with_binary_unit(double bytes);                      // "97.5 MiB"
std::string with_decimal(double number);  // the shortest exact form with one: "2.0", "0.25"

// The unit that suits a time, for several times in one line.
struct TimeUnit {
  double milliseconds = 1;
  const char* name = "ms";
};
TimeUnit time_unit(double milliseconds);
std::string time_in(TimeUnit unit, double milliseconds);  // "20.31", without the unit
// A time in the unit that suits it: "20.31 ms", "845.0 µs", "12.00 s".
std::string duration_text(double milliseconds);

// How far an interval reaches on either side of the value within it: "±1.2 %", "−7.1/+16 %".
// Empty for a value of 0.
std::string interval_text(double value, double low, double high);

std::size_t display_width(std::string_view text);               // in characters, not bytes
std::string without_control_characters(std::string_view text);  // safe to print on a terminal

// "-" for nothing.
std::string rate_text(std::optional<double> number);  // three digits: "0.12", "12.3", "4,567"

// The candidate with the smallest edit distance, if it is near enough to be a likely typing error.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace assay
