// Counts what the test program allocates by operator new, but for what oneDNN does.
#pragma once

#include <functional>

namespace assay::test {

int allocations_in(const std::function<void()>& work);

}  // namespace assay::test
