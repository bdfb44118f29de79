// QAttention of com.microsoft: queries, keys and values come from one product of 8-bit numbers; the
// attention itself is computed in real numbers.
#include "kernels/attention.h"
#include "kernels/families.h"
#include "kernels/integer_products.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Inputs: input, weight, bias, their scales, a mask, their zero points, past keys and values.
std::vector<Tensor> quantized_attention(const KernelCall& call) {
  ScaledProduct projected = scaled_product(
      call, {.a = 0, .a_scale = 3, .a_zero_point = 6, .b = 1, .b_scale = 4, .b_zero_point = 7});
  add_input(call, projected.values, projected.dims, 2);
  return packed_attention(call, {.past = 8, .addends = {.mask = 5}}, projected.values,
                          call.input(3).type());
}

}  // namespace

void add_quantized_attention_kernels(KernelTable& table) {
  table["QAttention"] = quantized_attention;
}

}  // namespace assay::kernels
