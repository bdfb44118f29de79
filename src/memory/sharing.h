// Which ops need no bytes of their own: views, whose output is an input under another shape, and
// element-wise ops, which may write over an input.
#pragma once

#include <cstddef>
#include <span>

#include "assay/graph.h"

namespace assay::memory {

// True where output 0 of the node is its input 0, byte for byte. A Dropout is a view too, unless
// its third input switches it to training: that is for the caller to ask.
bool is_view(const Node& node);

// The inputs that output 0 may overwrite while it is computed, given as many bytes: element i of
// the output needs no element of theirs but i. The most likely one comes first.
std::span<const std::size_t> overwritable_inputs(const Node& node);

// True for an op of any number of operands, which may be added up one after another: such an op
// may not overwrite an operand that it also reads under another name.
bool accumulates(const Node& node);

}  // namespace assay::memory
