// One operation of a given size as a model.
#pragma once

#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::profile {

struct OperationKind {
  std::string name;
  Graph (*build)(std::int64_t size) = nullptr;
  std::int64_t smallest = 1;
};

// Element-wise, reduction, matmul, convolution, attention.
const std::vector<OperationKind>& operation_kinds();

}  // namespace assay::profile
