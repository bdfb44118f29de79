// What to change in a model, or in how it is run, and how many milliseconds that is worth here.
//
// Each piece of advice comes from one rule over what was counted and measured: it names the layers,
// gives its reason in figures, and derives its gain from the measured ceilings with the changed
// work, at the efficiency reached now. Gains of different advice overlap: they do not add up.
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
  double gain_ms = 0;                    // of a typical run, of the batch that ran
  bool once = false;                     // gained at every start instead of at every run
};

// Best first, what is gained once at the end; nothing that gains less than a hundredth of the run.
// A profile that was not compared with ceilings gets the rules that need none.
std::vector<Advice> advise(const Profile& profile);

}  // namespace assay
