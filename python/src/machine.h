// A machine with what is wrong with its figures.
#pragma once

#include <string>
#include <vector>

#include "assay/machine.h"

namespace assay::python {

struct ChosenMachine {
  Machine machine;
  std::vector<std::string> warnings;
};

}  // namespace assay::python
