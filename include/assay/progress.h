// How long work speaks to whoever started it: it reports a fraction and asks whether to go on.
//
// The library never draws. The default does nothing and never cancels.
#pragma once

#include <string_view>

namespace assay {

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void report(double /*fraction*/, std::string_view /*what*/) {}
  virtual bool cancelled() const { return false; }
};

}  // namespace assay
