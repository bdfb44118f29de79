// Output of the command line: data to stdout, everything else to stderr, a progress bar only on a
// terminal. Ctrl-C sets a flag.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "assay/progress.h"

namespace assay::cli {

// Writes all of it, or throws an Error, for example if output is redirected to a full disk.
void print_data(std::string_view text);
// How many columns there are for tables: the terminal's, or COLUMNS, or 80; 80 to 240.
std::size_t output_width();
// Whether stdout is a terminal with colours.
bool draws_colours();
void print_error(std::string_view message);
// Ctrl-C is no error.
void print_interrupted(std::string_view what_follows = "");
// A note about what happens now, shown unless `quiet`, also without a terminal.
void print_note(std::string_view message, bool quiet);
void print_warnings(const std::vector<std::string>& warnings, bool quiet);
// The same, each in one line of 80 columns: what does not fit is left out, advice first.
void print_short_warnings(const std::vector<std::string>& warnings, bool quiet);

// Makes Ctrl-C, SIGTERM and a closed terminal set a flag that long computations check, instead of
// ending the process.
void catch_interrupts();
bool interrupted();

// Whether progress is drawn at all: on a terminal, unless asked not to.
bool draws_progress(bool quiet);
// Draws a progress bar of `cells` characters on stderr, followed by text, over the previous one.
void draw_bar(double fraction, int cells, std::string_view what);
void clear_bar();

// Draws a bar on stderr after two seconds, if stderr is a terminal.
class ProgressBar : public Progress {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar() override;
  void report(double fraction, std::string_view what) override;
  bool cancelled() const override { return interrupted(); }

 private:
  bool draws_ = false;
  bool has_drawn_ = false;
  int last_percent_ = -1;
  std::string last_text_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay::cli
