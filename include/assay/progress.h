// Progress and cancellation of long work: it reports a fraction and checks for cancellation.
//
// The library itself prints nothing. The default does nothing and never cancels.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void report(double /*fraction*/, std::string_view /*what*/) {}
  // Called after every sample of a measurement that counts, with how many there are by now.
  virtual void sampled(std::size_t /*samples*/) {}
  virtual bool cancelled() const { return false; }
};

}  // namespace assay
