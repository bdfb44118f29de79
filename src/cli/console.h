// Data to stdout, everything else to stderr; a progress bar only on a terminal; Ctrl-C as a
// question.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "assay/progress.h"

namespace assay::cli {

// Writes all of it, or throws an Error (a full disk behind a redirection is not success).
void print_data(std::string_view text);
// Whether stdout is a terminal that wants colours.
bool draws_colours();
void print_error(std::string_view message);
// Something that happens now, and may surprise: shown unless `quiet`, on a terminal or not.
void print_note(std::string_view message, bool quiet);
void print_warnings(const std::vector<std::string>& warnings, bool quiet);

// Makes Ctrl-C, SIGTERM and a closed terminal set a flag that long work asks for, instead of ending
// the process.
void catch_interrupts();
bool interrupted();

// Whether progress is drawn at all: on a terminal, unless asked not to.
bool draws_progress(bool quiet);
// Draws a progress bar of `cells` characters on stderr, with text behind it, over the previous one.
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
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay::cli
