// The text at the head of a .npy file: a Python dictionary of element type, order and shape.
//
// Only what NumPy itself writes for plain arrays is read; anything else is refused with its
// byte position. Nothing in it is evaluated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/data_type.h"

namespace assay::data {

struct NpyHeader {
  DataType type = DataType::Undefined;
  bool fortran_order = false;
  std::vector<std::int64_t> dims = {};
};

// `first_byte` is the position of `text` in `file`; both are for messages.
NpyHeader parse_npy_header(std::string_view text, std::size_t first_byte, const std::string& file);

// The dictionary for a C-ordered array; `type` must have a NumPy name.
std::string npy_dictionary(DataType type, const std::vector<std::int64_t>& dims);
// "<f4"; empty for a type that NumPy does not know.
std::string_view numpy_name(DataType type);

}  // namespace assay::data
