// Functions of one 8-bit number, as tables of 256 entries.
#pragma once

#include <array>
#include <cstdint>

#include "execute/cpu/lowering.h"

namespace assay::cpu {

using ByteTable = std::array<std::uint8_t, 256>;

// Lowers a node that depends on one 8-bit value alone, with the readers after it for which that is
// true as well, to one table look-up; false where the result would not be of 8 bits.
bool lower_as_byte_table(Lowering& lowering, NodeId id);

}  // namespace assay::cpu
