#include "cli/console.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/fail.h"
#include "base/system_error.h"
#include "base/text.h"

namespace assay::cli {

namespace {

volatile sig_atomic_t interrupt_seen = 0;

void note_interrupt(int) {
  // A second Ctrl-C ends the process at once.
  if (interrupt_seen != 0) ::_exit(130);
  interrupt_seen = 1;
}

bool uses_color(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(descriptor) != 0 && (no_color == nullptr || *no_color == '\0');
}

void print_labelled(std::string_view label, std::string_view color, std::string_view message) {
  const std::string text = without_control_characters(message);
  if (uses_color(STDERR_FILENO)) {
    fmt::print(stderr, "\033[{}m{}:\033[0m {}\n", color, label, text);
  } else {
    fmt::print(stderr, "{}: {}\n", label, text);
  }
}

// As many clauses as fit: "what was seen; what to do" becomes "what was seen".
std::string in_one_line(const std::string& text, std::size_t room) {
  std::string line = text;
  while (display_width(line) > room) {
    const auto end = line.rfind("; ");
    if (end == std::string::npos) break;
    line.erase(end);
  }
  if (display_width(line) <= room) return line;
  const auto space = line.rfind(' ', room - 2);
  return line.substr(0, space == std::string::npos ? room - 2 : space) + " …";
}

std::optional<std::int64_t> terminal_width() {
  struct winsize size {};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  if (size.ws_col == 0) return {};
  return size.ws_col;
}

std::optional<std::int64_t> width_in_environment() {
  const char* columns = std::getenv("COLUMNS");
  return columns == nullptr ? std::nullopt : parse_integer(columns);
}

}  // namespace

std::size_t output_width() {
  constexpr std::int64_t kNarrowest = 80;
  constexpr std::int64_t kWidest = 240;
  std::optional<std::int64_t> width = terminal_width();
  if (!width) width = width_in_environment();
  return static_cast<std::size_t>(std::clamp(width.value_or(kNarrowest), kNarrowest, kWidest));
}

bool draws_colours() {
  return uses_color(STDOUT_FILENO);
}

void print_data(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    fail_running("standard output cannot be written: {}", last_system_error());
  }
}

void print_error(std::string_view message) {
  print_labelled("error", "1;31", message);
}

void print_interrupted(std::string_view what_follows) {
  fmt::print(stderr, "interrupted{}{}\n", what_follows.empty() ? "" : ": ", what_follows);
}

void print_note(std::string_view message, bool quiet) {
  if (!quiet) print_labelled("note", "1;36", message);
}

void print_warnings(const std::vector<std::string>& warnings, bool quiet) {
  if (quiet) return;
  for (const auto& warning : warnings) print_labelled("warning", "1;33", warning);
}

void print_short_warnings(const std::vector<std::string>& warnings, bool quiet) {
  constexpr std::size_t kRoom = 80 - std::string_view("warning: ").size();
  std::vector<std::string> lines;
  for (const auto& warning : warnings) lines.push_back(in_one_line(warning, kRoom));
  print_warnings(lines, quiet);
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, &action, nullptr);
}

bool interrupted() {
  return interrupt_seen != 0;
}

bool draws_progress(bool quiet) {
  return !quiet && ::isatty(STDERR_FILENO) != 0;
}

void draw_bar(double fraction, int cells, std::string_view what) {
  const int percent = static_cast<int>(fraction * 100.0);
  const int filled = percent * cells / 100;
  fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {:3}% {}", "", filled, "", cells - filled, percent,
             without_control_characters(what));
  std::fflush(stderr);
}

void clear_bar() {
  fmt::print(stderr, "\r\033[K");
}

ProgressBar::ProgressBar(bool quiet) : draws_(draws_progress(quiet)) {}

ProgressBar::~ProgressBar() {
  if (has_drawn_) clear_bar();
}

void ProgressBar::report(double fraction, std::string_view what) {
  constexpr auto kPatience = std::chrono::seconds(2);
  constexpr int kCells = 30;
  const int percent = static_cast<int>(fraction * 100.0);
  const bool is_soon = std::chrono::steady_clock::now() - start_ < kPatience;
  const std::string text(what.substr(0, 40));
  const bool is_drawn = percent == last_percent_ && text == last_text_;
  if (!draws_ || is_soon || is_drawn) return;
  draw_bar(fraction, kCells, text);
  last_percent_ = percent;
  last_text_ = text;
  has_drawn_ = true;
}

}  // namespace assay::cli
