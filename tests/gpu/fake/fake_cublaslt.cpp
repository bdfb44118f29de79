// A cuBLASLt that there is not: takes descriptions of products as the library documents them,
// refuses what it would refuse, and computes plainly. It can be used if FAKE_CUDA_LIBRARIES is 1.
// It proposes three algorithms: 7, 11, which takes a workspace, and 13, which fails when it runs.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "fake_work.h"

namespace fake::cublaslt {

namespace {

using fake::Stored;

constexpr int kNotInitialised = 1;
constexpr int kInvalidValue = 7;
constexpr int kNotSupported = 15;
constexpr std::size_t kWorkspaceBytes = 1000;

struct Product {
  int compute = 0;
  int scale = 0;
  std::map<int, std::uint64_t> attributes;
  std::uint64_t get(int attribute, std::uint64_t otherwise) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? otherwise : found->second;
  }
};

struct Layout {
  int type = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading = 0;
  std::int32_t batches = 1;
  std::int64_t stride = 0;
};

struct Preference {
  std::uint64_t workspace = 0;
  std::map<int, std::uint32_t> alignments;
};

struct Proposal {
  std::array<std::uint64_t, 8> algorithm = {};
  std::size_t workspace_bytes = 0;
  int state = 0;
  float waves = 0;
  int reserved[4] = {};
};

// Attribute and its bytes.
const std::map<int, std::size_t> kProductAttributes = {{3, 4}, {4, 4}, {7, 4}, {8, 8}, {25, 1}};
const std::map<int, std::size_t> kConfigAttributes = {{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 4},
                                                      {5, 4}, {6, 4}, {7, 2}, {8, 2}};

Stored stored(int type) {
  switch (type) {
    case 1:
      return Stored::Float64;
    case 2:
      return Stored::Float16;
    case 14:
      return Stored::BFloat16;
    case 28:
      return Stored::Float8;
    case 3:
      return Stored::Int8;
    case 10:
      return Stored::Int32;
    default:
      return Stored::Float32;
  }
}

bool fits(const Layout& layout) {
  return layout.rows > 0 && layout.columns > 0 &&
         layout.leading >= static_cast<std::int64_t>(layout.rows);
}

// Compute and scale types as the table of supported combinations has them.
bool is_combination(const Product& product, const Layout& a, const Layout& d) {
  if (product.compute == 70) return product.scale == 1 && a.type == 1 && d.type == 1;
  if (product.compute == 72) return product.scale == 10 && a.type == 3 && d.type == 10;
  if (a.type == 28) {
    const bool is_only_layout = product.get(3, 0) == 1 && product.get(4, 0) == 0;
    return product.compute == 68 && product.scale == 0 && d.type == 14 && is_only_layout;
  }
  if (product.scale != 0 || a.type != d.type) return false;
  if (product.compute == 77) return a.type == 0;
  return product.compute == 68 && (a.type == 0 || a.type == 2 || a.type == 14);
}

bool are_consistent(const Product& product, const Layout& a, const Layout& b, const Layout& c,
                    const Layout& d) {
  const bool turns_a = product.get(3, 0) == 1;
  const bool turns_b = product.get(4, 0) == 1;
  const std::uint64_t rows = turns_a ? a.columns : a.rows;
  const std::uint64_t depth = turns_a ? a.rows : a.columns;
  const std::uint64_t deep = turns_b ? b.columns : b.rows;
  const std::uint64_t columns = turns_b ? b.rows : b.columns;
  return fits(a) && fits(b) && fits(c) && fits(d) && a.type == b.type && c.type == d.type &&
         is_combination(product, a, d) && depth == deep && d.rows == rows && d.columns == columns &&
         c.rows == rows && c.columns == columns && a.batches == d.batches &&
         b.batches == d.batches && c.batches == d.batches;
}

double scale(const Product& product, const void* number) {
  return fake::load(stored(product.scale), number, 0);
}

double activated(std::uint64_t epilogue, double x) {
  if ((epilogue & 2) != 0) return x > 0 ? x : 0;
  if ((epilogue & 32) != 0)
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

struct Operands {
  const void* a;
  const void* b;
  const void* c;
  void* d;
};

void multiply(const Product& product, const Layout& a, const Layout& b, const Layout& c,
              const Layout& d, double alpha, double beta, const Operands& at) {
  const bool turns_a = product.get(3, 0) == 1;
  const bool turns_b = product.get(4, 0) == 1;
  const std::uint64_t epilogue = product.get(7, 1);
  const std::uint64_t depth = turns_a ? a.rows : a.columns;
  const auto element = [](const Layout& layout, std::int64_t z, std::uint64_t row,
                          std::uint64_t column) {
    return static_cast<std::size_t>(z * layout.stride) + row +
           column * static_cast<std::size_t>(layout.leading);
  };
  for (std::int64_t z = 0; z < d.batches; ++z) {
    for (std::uint64_t i = 0; i < d.rows; ++i) {
      for (std::uint64_t j = 0; j < d.columns; ++j) {
        double sum = 0;
        for (std::uint64_t k = 0; k < depth; ++k)
          sum +=
              fake::load(stored(a.type), at.a,
                         turns_a ? element(a, z, k, i) : element(a, z, i, k)) *
              fake::load(stored(b.type), at.b, turns_b ? element(b, z, j, k) : element(b, z, k, j));
        sum *= alpha;
        if (beta != 0) sum += beta * fake::load(stored(c.type), at.c, element(c, z, i, j));
        if ((epilogue & 4) != 0)
          sum += fake::load(stored(d.type), reinterpret_cast<const void*>(product.get(8, 0)), i);
        fake::store(stored(d.type), at.d, element(d, z, i, j), activated(epilogue, sum));
      }
    }
  }
}

}  // namespace

}  // namespace fake::cublaslt

using namespace fake::cublaslt;

extern "C" {

int cublasLtCreate(void** handle) {
  if (fake::setting("FAKE_CUDA_LIBRARIES", 0) == 0) return kNotInitialised;
  *handle = new int(0);
  return 0;
}
int cublasLtDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return 0;
}
std::size_t cublasLtGetVersion() {
  return 130100;
}
const char* cublasLtGetStatusName(int status) {
  if (status == kNotInitialised) return "CUBLAS_STATUS_NOT_INITIALIZED";
  if (status == kInvalidValue) return "CUBLAS_STATUS_INVALID_VALUE";
  return status == kNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_UNKNOWN";
}
int cublasLtMatmulDescCreate(void** product, int compute, int scale) {
  *product = new Product{compute, scale, {}};
  return 0;
}
int cublasLtMatmulDescDestroy(void* product) {
  delete static_cast<Product*>(product);
  return 0;
}
int cublasLtMatmulDescSetAttribute(void* product, int attribute, const void* value,
                                   std::size_t bytes) {
  const auto known = kProductAttributes.find(attribute);
  if (known == kProductAttributes.end() || known->second != bytes) return kInvalidValue;
  std::uint64_t number = 0;
  std::memcpy(&number, value, bytes);
  static_cast<Product*>(product)->attributes[attribute] = number;
  return 0;
}
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  *layout = new Layout{type, rows, columns, leading};
  return 0;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                     std::size_t bytes) {
  auto* to = static_cast<Layout*>(layout);
  if (attribute == 5 && bytes == 4) {
    std::memcpy(&to->batches, value, bytes);
  } else if (attribute == 6 && bytes == 8) {
    std::memcpy(&to->stride, value, bytes);
  } else {
    return kInvalidValue;
  }
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new Preference;
  return 0;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<Preference*>(preference);
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                         std::size_t bytes) {
  auto* to = static_cast<Preference*>(preference);
  if (attribute == 1 && bytes == 8) {
    std::memcpy(&to->workspace, value, bytes);
  } else if (attribute >= 5 && attribute <= 8 && bytes == 4) {
    std::memcpy(&to->alignments[attribute], value, bytes);
  } else {
    return kInvalidValue;
  }
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d,
                                   void* preference, int most, void* results, int* count) {
  const auto& what = *static_cast<Product*>(product);
  if (handle == nullptr || most < 3 || ((what.get(7, 1) & 4) != 0 && what.get(8, 0) == 0))
    return kInvalidValue;
  if (!are_consistent(what, *static_cast<Layout*>(a), *static_cast<Layout*>(b),
                      *static_cast<Layout*>(c), *static_cast<Layout*>(d)))
    return kNotSupported;
  const bool has_workspace = static_cast<Preference*>(preference)->workspace >= kWorkspaceBytes;
  auto* to = static_cast<Proposal*>(results);
  to[0] = {.algorithm = {7}};
  to[1] = {.algorithm = {11}, .workspace_bytes = kWorkspaceBytes, .state = has_workspace ? 0 : 15};
  to[2] = {.algorithm = {13}};
  *count = 3;
  return 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const void* algorithm, int attribute, void* value,
                                         std::size_t bytes, std::size_t* written) {
  const auto known = kConfigAttributes.find(attribute);
  if (known == kConfigAttributes.end() || known->second != bytes) return kInvalidValue;
  const auto number =
      attribute == 0 ? static_cast<std::uint32_t>(*static_cast<const std::uint64_t*>(algorithm))
                     : 0;
  std::memcpy(value, &number, bytes);
  *written = bytes;
  return 0;
}
int cublasLtMatmul(void* handle, void* product, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                   void* d, void* d_layout, const void* algorithm, void* workspace,
                   std::size_t workspace_bytes, void* stream) {
  const auto id = *static_cast<const std::uint64_t*>(algorithm);
  const bool lacks_workspace =
      id == 11 && (workspace == nullptr || workspace_bytes < kWorkspaceBytes);
  if (handle == nullptr || stream == nullptr || a == nullptr || b == nullptr || c == nullptr ||
      d == nullptr || lacks_workspace)
    return kInvalidValue;
  if (id == 13) return kNotSupported;
  const Product what = *static_cast<Product*>(product);
  const Layout of_a = *static_cast<Layout*>(a_layout);
  const Layout of_b = *static_cast<Layout*>(b_layout);
  const Layout of_c = *static_cast<Layout*>(c_layout);
  const Layout of_d = *static_cast<Layout*>(d_layout);
  if (!are_consistent(what, of_a, of_b, of_c, of_d)) return kInvalidValue;
  const double factor = scale(what, alpha);
  const double of_added = scale(what, beta);
  return fake::run_or_record([=] {
    if (id == 11) std::memset(workspace, 0x55, workspace_bytes);
    multiply(what, of_a, of_b, of_c, of_d, factor, of_added, {a, b, c, d});
    if (id == 11) std::memset(workspace, 0xaa, workspace_bytes);
    fake::add_milliseconds(fake::setting("FAKE_CUDA_LIBRARY_MS", 0));
  });
}

}  // extern "C"
