// Arrays in and out without copying: NumPy's, and whatever else has Python's buffer interface.
#pragma once

#include <string>
#include <vector>

#include "assay/tensor.h"
#include "python/src/bindings.h"

namespace assay::python {

// Views the object's memory and keeps the object. `what` is the subject of errors: "input 'x'".
// `type` says what the bytes are, where Python's own format cannot (bfloat16).
Tensor tensor_of(const py::object& array, const std::string& what, const std::string& type = "");

// The same memory as a NumPy array, which keeps the tensor. Types that NumPy lacks come as unsigned
// integers of their width.
py::object array_of(const Tensor& tensor, bool writeable);

}  // namespace assay::python
