// Runs this program in a fresh process and collects its output and exit status.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace assay::cli {

struct ChildResult {
  int exit_code = 0;
  std::string output;
  std::string error_output;                       // its stderr
  std::vector<std::size_t> samples_by_turn = {};  // total after each turn that measured
};

// `assay WORDS… --turns SECONDS`: runs only during its turns, see turns.h. Ctrl-C throws an
// Error of kind Cancelled from any waiting function; the process never outlives this object.
class TurnTaker {
 public:
  explicit TurnTaker(std::vector<std::string> words);
  TurnTaker(TurnTaker&&) noexcept;
  ~TurnTaker();

  void wait_until_ready();  // returns when it is ready to measure, or has ended
  void take_turn();         // returns when the turn is over, or the process has ended
  bool has_ended() const;
  ChildResult result();  // of a process that has ended

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace assay::cli
