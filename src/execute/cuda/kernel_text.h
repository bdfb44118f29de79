// What the texts of all kernels have in common: types, conversions and functions of numbers.
#pragma once

#include <string>

#include "assay/data_type.h"

namespace assay::cuda {

// Put before every kernel: types of 16 bits, vectors of elements, functions.
const std::string& kernel_prelude();

// "half_t": an element as it is stored.
std::string stored_type(DataType type);
// The type that it is computed in: "float" for floating types of up to 32 bits.
std::string computed_type(DataType type);
// Whether kernels can read and write elements of this type.
bool has_device_type(DataType type);

// An expression of the computed type from one of the stored type, and the other way round.
std::string loaded(DataType type, const std::string& stored);
std::string stored(DataType type, const std::string& computed);

// A number of one computed type as one of another, rounded as it is stored.
std::string cast_text(DataType from, DataType to, const std::string& number);

// A number as the text of a constant of this computed type.
std::string number_text(double number, const std::string& computed_type);

}  // namespace assay::cuda
