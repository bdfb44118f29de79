// The one exception type of the library: a request that could not be met.
//
// A message says what went wrong, where, and where possible what to try. The edge (command line,
// later Python) converts it once; library code never prints and never exits.
#pragma once

#include <stdexcept>
#include <string>

namespace assay {

enum class ErrorKind {
  Usage,      // the caller asked for something that does not exist or contradicts itself
  BadInput,   // a file, configuration or data set that cannot be used
  Failed,     // something went wrong while running: disk full, out of memory
  Cancelled,  // the user asked to stop
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_ = ErrorKind::Failed;
};

}  // namespace assay
