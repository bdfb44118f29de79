#include "execute/cpu/onednn/sgemm.h"

#include <oneapi/dnnl/dnnl.h>

namespace assay::cpu {

void sgemm(const MatrixSizes& sizes, const MatrixOperand& a, const MatrixOperand& b, float* result,
           std::int64_t result_stride, float alpha, float beta) {
  dnnl_sgemm(a.is_transposed ? 'T' : 'N', b.is_transposed ? 'T' : 'N', sizes.rows, sizes.columns,
             sizes.depth, alpha, a.first, a.stride, b.first, b.stride, beta, result, result_stride);
}

bool is_sgemm_generated() {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

}  // namespace assay::cpu
