#include "execute/cuda/moments_text.h"

#include <fmt/core.h>

#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

std::string moments_text(const Rows& rows, const std::string& type, const std::string& value,
                         float epsilon) {
  return fmt::format("  {} mean = 0;\n", type) +
         each_text(rows, fmt::format("    mean += {};\n", value)) +
         fmt::format("  mean = together<Plus, THREADS>(mean) / {};\n  {} square = 0;\n", rows.width,
                     type) +
         each_text(rows, fmt::format("    const {0} d = {1} - mean;\n    square += d * d;\n", type,
                                     value)) +
         fmt::format(
             "  const {0} variance = together<Plus, THREADS>(square) / {1};\n  const {0} scaled_by "
             "= ({0})1 / sqrt(variance + {2});\n",
             type, rows.width, number_text(epsilon, type));
}

}  // namespace assay::cuda
