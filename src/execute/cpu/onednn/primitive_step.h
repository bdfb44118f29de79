// A oneDNN primitive as a step of a program.
#pragma once

#include "execute/cpu/lowering.h"

namespace assay::cpu {

// One operand: which of the primitive's it is, the layout it has and where it lives.
struct Argument {
  int index = 0;  // argument::k…
  Desc desc;
  Placement placement;
};
Binder primitive_binder(const dnnl::primitive& primitive, std::vector<Argument> arguments);

}  // namespace assay::cpu
