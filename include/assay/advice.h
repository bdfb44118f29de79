// What to change in a model, or in how it is run, and how many milliseconds that could save on this
// machine.
//
// Each piece of advice comes from one rule over what was counted and measured: it names the layers,
// gives its reason in figures, and derives the potential saving from the measured ceilings with the
// changed work, at the efficiency reached now. Savings overlap: they do not add up.
#pragma once

#include <string>
#include <vector>

namespace assay {

struct Profile;

struct Advice {
  std::string rule = "";                 // "memory-bound-weights", …; docs/advice.md has them all
  std::vector<std::string> layers = {};  // that it is about, the slowest first
  std::string reason = "";               // what was seen, in figures
  std::string action = "";               // what to do, and what would be left of the time
  double saving_ms = 0;                  // potential saving in the median run of the batch that ran
  bool once = false;                     // saved at every start instead of in every run
};

// Largest saving first, savings at start last; none below 1 % of a run. A profile that was not
// compared with ceilings gets only the rules that need none.
std::vector<Advice> advise(const Profile& profile);

}  // namespace assay
