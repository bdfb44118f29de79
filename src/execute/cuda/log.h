// What choosing algorithms found, for who develops or tunes: lines on standard error if the
// environment variable ASSAY_CUDA_LOG is set.
#pragma once

#include <string>

namespace assay::cuda {

bool keeps_log();
void log_line(const std::string& line);

}  // namespace assay::cuda
