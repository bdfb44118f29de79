// Matrix products by cuBLASLt: alpha · A · B + beta · C, then a bias, then an activation. The
// library proposes algorithms; which is fastest is for the caller to measure.
//
// A failed call is an Error that names the call and the library's status.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/number_type.h"

namespace assay::gpu {

// The library's state, of one program: it is created when it is first needed.
class CublasLtHandle {
 public:
  // Throws if this machine has no cuBLASLt.
  explicit CublasLtHandle(const Device& device);
  const CublasLt& functions() const { return functions_; }
  Handle get() const { return handle_.get(); }
  // Throws if the call failed: "cublasLtMatmul fails: CUBLAS_STATUS_NOT_SUPPORTED".
  void check(Status status, std::string_view call) const;

 private:
  const CublasLt& functions_;
  Owned handle_;
};

// Elements of a row lie next to each other, or those of a column.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;  // elements from a row to the next, or from a column to the next
  bool by_columns = false;
  std::int64_t batch_stride = 0;  // elements from a matrix to the next
  std::uint32_t alignment = 256;  // bytes, of the first element's address
};

enum class ProductActivation { None, Relu, GeluTanh };

struct Product {
  NumberType type = NumberType::Float32;  // of A, B, C, the bias and the result; of 8 bits: A and B
  Float32Math math = Float32Math::Real;
  std::int64_t batches = 1;
  Matrix a;
  Matrix b;
  Matrix result;                // row by row
  std::optional<Matrix> added;  // C, row by row
  double alpha = 1;
  double beta = 1;        // of C
  bool has_bias = false;  // a number for each column of the result
  std::uint32_t bias_alignment = 256;
  ProductActivation activation = ProductActivation::None;
};

// An algorithm that the library proposes.
struct ProductChoice {
  std::string name = "";  // "cublaslt 66": its number
  std::string key = "";   // all that makes it up
  std::array<std::uint64_t, 8> algorithm = {};
  std::int64_t workspace_bytes = 0;
};

struct ProductOperands {
  DevicePointer a = 0;
  DevicePointer b = 0;
  DevicePointer added = 0;
  DevicePointer bias = 0;
  DevicePointer result = 0;
  DevicePointer workspace = 0;
};

class CublasLtProduct {
 public:
  CublasLtProduct(std::shared_ptr<const CublasLtHandle> handle, const Product& product);

  // Those that the library takes for fast, the fastest first.
  std::vector<ProductChoice> choices(int most = 16) const;

  // The call, once its operands have addresses. It can be captured, and made any number of times.
  std::function<void(const Stream&)> bind(const ProductChoice& choice,
                                          const ProductOperands& operands) const;

 private:
  std::shared_ptr<const CublasLtHandle> handle_;
  Product product_;
};

}  // namespace assay::gpu
