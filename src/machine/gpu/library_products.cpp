#include "machine/gpu/library_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/fail.h"
#include "gpu/code.h"

namespace assay::machine {

namespace {

using gpu::NumberType;

// Floating formats: numbers from 1/4 to 1 of either sign, with random mantissas.
struct NumberForm {
  int bytes = 4;
  int mantissa_bits = 23;
  int exponent_bias = 127;
  int result_bytes = 4;
};

NumberForm form_of(NumberType type) {
  switch (type) {
    case NumberType::Float16:
      return {2, 10, 15, 2};
    case NumberType::BFloat16:
      return {2, 7, 127, 2};
    case NumberType::Float8:
      return {1, 3, 7, 2};
    case NumberType::Int8:
      return {1, 0, 0, 4};
    default:
      return {};
  }
}

// Whole bytes of any value, or the bits of a number as above. `random_bits` is the same here.
constexpr const char* kFillText = R"(
typedef {type} Bits;
__device__ unsigned random_bits(unsigned n) {{
  n *= 2654435761u;
  n ^= n >> 15;
  n *= 2246822519u;
  n ^= n >> 13;
  n *= 3266489917u;
  return n ^ n >> 16;
}}
extern "C" __global__ void fill(Bits* to, long long count, long long seed) {{
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count;
       i += (long long)gridDim.x * blockDim.x) {{
    const unsigned random = random_bits((unsigned)(i + seed));
    unsigned bits = random;
    if ({mantissa} > 0)
      bits = (random & (1u << {mantissa}) - 1) | ({bias} - 1 - (random >> 30 & 1)) << {mantissa} |
             (random >> 31) << ({width} - 1);
    to[i] = (Bits)bits;
  }}
}}
)";

std::string fill_text(const NumberForm& form) {
  const char* type = form.bytes == 1   ? "unsigned char"
                     : form.bytes == 2 ? "unsigned short"
                                       : "unsigned";
  return fmt::format(kFillText, fmt::arg("type", type), fmt::arg("mantissa", form.mantissa_bits),
                     fmt::arg("bias", form.exponent_bias), fmt::arg("width", 8 * form.bytes));
}

// A number of any of the formats, subnormal ones and infinities aside.
double decoded(const std::byte* at, const NumberForm& form, int bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(bytes));
  if (form.mantissa_bits == 0) {
    return bytes == 1 ? static_cast<std::int8_t>(bits) : static_cast<std::int32_t>(bits);
  }
  const std::uint32_t sign = std::uint32_t{1} << (8 * bytes - 1);
  const std::uint32_t mantissa = bits & ((std::uint32_t{1} << form.mantissa_bits) - 1);
  const auto exponent = static_cast<int>((bits & ~sign) >> form.mantissa_bits);
  if (exponent == 0) return 0;
  const double size =
      std::ldexp(1 + std::ldexp(mantissa, -form.mantissa_bits), exponent - form.exponent_bias);
  return (bits & sign) != 0 ? -size : size;
}

// What a result is stored as: 8-bit floats give bfloat16, bytes give whole numbers of 32 bits.
NumberForm result_form(const LibraryProduct& product) {
  return form_of(product.type == NumberType::Float8 ? NumberType::BFloat16 : product.type);
}

class MeasuredProduct {
 public:
  MeasuredProduct(const GpuStopwatch& watch, const LibraryProduct& product)
      : watch_(watch),
        product_(product),
        form_(form_of(product.type)),
        size_(size_for(watch.device())),
        a_(watch.device(), operand_bytes(), "matrices for measuring peaks"),
        b_(watch.device(), operand_bytes(), "matrices for measuring peaks"),
        result_(watch.device(), size_ * size_ * form_.result_bytes, "matrices for measuring peaks"),
        library_(std::make_shared<gpu::CublasLtHandle>(watch.device())),
        call_(library_, described()) {
    const gpu::Code code(watch.device(), fill_text(form_));
    const gpu::Handle fill = code.function("fill");
    for (const gpu::Memory* operand : {&a_, &b_}) {
      const std::uint64_t seed = operand == &a_ ? 0 : 1000000007;
      const std::array<std::uint64_t, 3> arguments = {
          operand->address(), static_cast<std::uint64_t>(size_ * size_), seed};
      gpu::launch(watch.stream(), fill, {.blocks = {1024, 1, 1}, .threads = 256}, arguments);
    }
    watch.stream().wait("filling matrices");
  }

  std::optional<Peak> measure(double seconds) {
    Call fastest;
    std::int64_t least = 0;
    for (const gpu::ProductChoice& choice : call_.choices(kMostChoices)) {
      const Call call = bound(choice);
      const auto time = time_of(call);
      if (!time || (fastest && *time >= least)) continue;
      fastest = call;
      least = *time;
    }
    if (!fastest) return {};
    const TryTimes best = watch_.best({4, 40, seconds}, [&] { fastest(watch_.stream()); });
    check();
    const double operations = 2.0 * static_cast<double>(size_ * size_) * static_cast<double>(size_);
    return Peak{.precision = product_.precision,
                .instruction_set = "cuBLASLt",
                .gflops = operations / static_cast<double>(best.best),
                .spread = best.spread};
  }

 private:
  using Call = std::function<void(const gpu::Stream&)>;
  static constexpr int kMostChoices = 8;

  // Nothing if the library proposes what then fails.
  std::optional<std::int64_t> time_of(const Call& call) const {
    try {
      return watch_.best({2, 2, 0}, [&] { call(watch_.stream()); }).best;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      return {};
    }
  }

  // Many tiles for each multiprocessor.
  static std::int64_t size_for(const gpu::Device& device) {
    constexpr std::int64_t kOfMultiprocessor = 64;
    constexpr std::int64_t kLargest = 8192;
    return std::min(kLargest, kOfMultiprocessor * device.facts().multiprocessors);
  }

  std::int64_t operand_bytes() const { return size_ * size_ * form_.bytes; }

  // What counts along lies side by side in both operands, as 8-bit numbers require.
  gpu::Product described() const {
    const gpu::Matrix square{.rows = size_, .columns = size_, .leading = size_};
    gpu::Product product;
    product.type = product_.type;
    product.math = product_.math;
    product.a = product.b = product.result = square;
    product.b.by_columns = true;
    return product;
  }

  Call bound(const gpu::ProductChoice& choice) {
    if (choice.workspace_bytes > workspace_.bytes())
      workspaces_.push_back(std::exchange(
          workspace_,
          gpu::Memory(watch_.device(), choice.workspace_bytes, "workspace for measuring peaks")));
    return call_.bind(choice, {.a = a_.address(),
                               .b = b_.address(),
                               .result = result_.address(),
                               .workspace = workspace_.address()});
  }

  std::vector<std::byte> part(const gpu::Memory& of, std::int64_t start, std::int64_t bytes) const {
    std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
    watch_.stream().copy_out(copy, of.address() + static_cast<gpu::DevicePointer>(start));
    watch_.stream().wait("multiplying matrices");
    return copy;
  }

  void check() const {
    constexpr std::int64_t kElements = 16;
    for (std::int64_t i = 0; i < kElements; ++i) {
      const std::int64_t row = i * 7919 % size_;
      const std::int64_t column = i * 104729 % size_;
      if (!is_right(row, column))
        fail_running("{} by cuBLASLt gave wrong sums", product_.precision);
    }
  }

  // Off by what rounding the result, and sums of fewer bits, explain.
  bool is_right(std::int64_t row, std::int64_t column) const {
    const std::int64_t line = size_ * form_.bytes;
    const auto a = part(a_, row * line, line);
    const auto b = part(b_, column * line, line);
    double sum = 0;
    double of_sizes = 0;
    for (std::int64_t k = 0; k < size_; ++k) {
      const double term =
          decoded(&a[static_cast<std::size_t>(k * form_.bytes)], form_, form_.bytes) *
          decoded(&b[static_cast<std::size_t>(k * form_.bytes)], form_, form_.bytes);
      sum += term;
      of_sizes += std::abs(term);
    }
    const auto result =
        part(result_, (row * size_ + column) * form_.result_bytes, form_.result_bytes);
    const double found = decoded(result.data(), result_form(product_), form_.result_bytes);
    if (product_.type == NumberType::Int8) return found == sum;
    return std::abs(found - sum) <= std::ldexp(std::abs(sum), -7) + std::ldexp(of_sizes, -10);
  }

  const GpuStopwatch& watch_;
  const LibraryProduct& product_;
  NumberForm form_;
  std::int64_t size_ = 0;
  gpu::Memory a_;
  gpu::Memory b_;
  gpu::Memory result_;
  gpu::Memory workspace_;
  std::vector<gpu::Memory> workspaces_;  // of other choices
  std::shared_ptr<const gpu::CublasLtHandle> library_;
  gpu::CublasLtProduct call_;
};

}  // namespace

std::vector<LibraryProduct> library_products(const gpu::Device& device) {
  if (!device.libraries().cublaslt) return {};
  std::vector<LibraryProduct> products = {
      {"tf32", NumberType::Float32, gpu::Float32Math::Tf32},
      {"fp16", NumberType::Float16},
      {"bf16", NumberType::BFloat16},
      {"fp8", NumberType::Float8, gpu::Float32Math::Real, 89},
      {"int8", NumberType::Int8},
  };
  std::erase_if(products, [&](const LibraryProduct& product) {
    return product.least_capability > device.facts().compute_capability;
  });
  return products;
}

std::optional<Peak> measure_library_product(const GpuStopwatch& watch,
                                            const LibraryProduct& product, double seconds) {
  return MeasuredProduct(watch, product).measure(seconds);
}

}  // namespace assay::machine
