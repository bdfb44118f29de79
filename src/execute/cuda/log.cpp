#include "execute/cuda/log.h"

#include <cstdio>
#include <cstdlib>

namespace assay::cuda {

bool keeps_log() {
  const char* set = std::getenv("ASSAY_CUDA_LOG");
  return set != nullptr && *set != '\0' && *set != '0';
}

void log_line(const std::string& line) {
  if (keeps_log()) std::fprintf(stderr, "assay: %s\n", line.c_str());
}

}  // namespace assay::cuda
