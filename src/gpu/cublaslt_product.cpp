#include "gpu/cublaslt_product.h"

#include <algorithm>

#include "base/fail.h"

namespace assay::gpu {

namespace {

// Numbers of cudaDataType and cublasComputeType_t.
constexpr int kReal32 = 0;
constexpr int kReal64 = 1;
constexpr int kReal16 = 2;
constexpr int kRealBf16 = 14;
constexpr int kReal8 = 28;
constexpr int kInt8 = 3;
constexpr int kInt32 = 10;
constexpr int kCompute32 = 68;
constexpr int kCompute64 = 70;
constexpr int kComputeInt32 = 72;
constexpr int kComputeTf32 = 77;

// Attributes of cublasLtMatmulDesc_t.
constexpr int kTransposeA = 3;
constexpr int kTransposeB = 4;
constexpr int kEpilogue = 7;
constexpr int kBiasPointer = 8;
constexpr int kFastSums = 25;  // of 8-bit floats: not rounded to more bits in between
// Of cublasLtMatrixLayout_t.
constexpr int kBatchCount = 5;
constexpr int kBatchStride = 6;
// Of cublasLtMatmulPreference_t; alignments of A, B, C and D follow each other.
constexpr int kMostWorkspace = 1;
constexpr int kAlignment = 5;

constexpr std::int32_t kAsItIs = 0;  // CUBLAS_OP_N
constexpr std::int32_t kTransposed = 1;
constexpr std::uint32_t kPlain = 1;  // CUBLASLT_EPILOGUE_DEFAULT
constexpr std::uint32_t kRelu = 2;
constexpr std::uint32_t kBias = 4;
constexpr std::uint32_t kGelu = 32;

// What NVIDIA recommends for Hopper.
constexpr std::uint64_t kWorkspaceBytes = std::uint64_t{32} << 20;

struct Types {
  int operand = kReal32;
  int result = kReal32;
  int compute = kCompute32;
  int scale = kReal32;
};

Types types_of(const Product& product) {
  switch (product.type) {
    case NumberType::Float64:
      return {kReal64, kReal64, kCompute64, kReal64};
    case NumberType::Float16:
      return {.operand = kReal16, .result = kReal16};
    case NumberType::BFloat16:
      return {.operand = kRealBf16, .result = kRealBf16};
    case NumberType::Float8:
      return {.operand = kReal8, .result = kRealBf16};
    case NumberType::Int8:
      return {kInt8, kInt32, kComputeInt32, kInt32};
    case NumberType::Float32:
      break;
  }
  return {.compute = product.math == Float32Math::Tf32 ? kComputeTf32 : kCompute32};
}

std::uint32_t epilogue_of(const Product& product) {
  const std::uint32_t bias = product.has_bias ? kBias : 0;
  switch (product.activation) {
    case ProductActivation::Relu:
      return kRelu | bias;
    case ProductActivation::GeluTanh:
      return kGelu | bias;
    case ProductActivation::None:
      break;
  }
  return product.has_bias ? kBias : kPlain;
}

// A host number of the scale type.
union Scale {
  float real;
  double real64;
  std::int32_t integer;
};

Scale scale_of(double number, int type) {
  Scale scale = {};
  if (type == kReal64) {
    scale.real64 = number;
  } else if (type == kInt32) {
    scale.integer = static_cast<std::int32_t>(number);
  } else {
    scale.real = static_cast<float>(number);
  }
  return scale;
}

// The library's matrices lie column by column: a matrix that lies row by row is its transpose. So
// the transposed result is computed, B' · A', and its rows, to which a bias belongs, are the
// columns of ours.
class Descriptors {
 public:
  Descriptors(const CublasLtHandle& handle, const Product& product)
      : handle_(handle), types_(types_of(product)) {
    const CublasLt& library = handle.functions();
    Handle made = nullptr;
    handle.check(library.create_product(&made, types_.compute, types_.scale),
                 "cublasLtMatmulDescCreate");
    product_ = {made, library.destroy_product};
    set(kTransposeA, product.b.by_columns ? kTransposed : kAsItIs, "TRANSA");
    set(kTransposeB, product.a.by_columns ? kTransposed : kAsItIs, "TRANSB");
    set(kEpilogue, epilogue_of(product), "EPILOGUE");
    if (product.type == NumberType::Float8) set(kFastSums, std::int8_t{1}, "FAST_ACCUM");
    first_ = layout(product.b, types_.operand, product.batches);
    second_ = layout(product.a, types_.operand, product.batches);
    result_ = layout(product.result, types_.result, product.batches);
    if (product.added) added_ = layout(*product.added, types_.result, product.batches);
  }

  void set_bias(DevicePointer address) {
    set(kBiasPointer, reinterpret_cast<const void*>(address), "BIAS_POINTER");
  }

  const Types& types() const { return types_; }
  Handle product() const { return product_.get(); }
  Handle first() const { return first_.get(); }
  Handle second() const { return second_.get(); }
  Handle added() const { return added_ ? added_.get() : result_.get(); }
  Handle result() const { return result_.get(); }

 private:
  template <typename Value>
  void set(int attribute, Value value, const char* name) {
    handle_.check(handle_.functions().set_product(product_.get(), attribute, &value, sizeof(value)),
                  fmt::format("cublasLtMatmulDescSetAttribute {}", name));
  }

  Owned layout(const Matrix& matrix, int type, std::int64_t batches) const {
    const CublasLt& library = handle_.functions();
    const std::int64_t rows = matrix.by_columns ? matrix.rows : matrix.columns;
    const std::int64_t columns = matrix.by_columns ? matrix.columns : matrix.rows;
    Handle made = nullptr;
    handle_.check(library.create_layout(&made, type, static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), matrix.leading),
                  "cublasLtMatrixLayoutCreate");
    Owned owned(made, library.destroy_layout);
    if (batches == 1) return owned;
    const auto count = static_cast<std::int32_t>(batches);
    handle_.check(library.set_layout(made, kBatchCount, &count, sizeof(count)),
                  "cublasLtMatrixLayoutSetAttribute BATCH_COUNT");
    handle_.check(
        library.set_layout(made, kBatchStride, &matrix.batch_stride, sizeof(matrix.batch_stride)),
        "cublasLtMatrixLayoutSetAttribute STRIDED_BATCH_OFFSET");
    return owned;
  }

  const CublasLtHandle& handle_;
  Types types_;
  Owned product_;
  Owned first_;
  Owned second_;
  Owned added_;
  Owned result_;
};

Owned preference_of(const CublasLtHandle& handle, const Product& product) {
  const CublasLt& library = handle.functions();
  Handle made = nullptr;
  handle.check(library.create_preference(&made), "cublasLtMatmulPreferenceCreate");
  Owned preference(made, library.destroy_preference);
  handle.check(
      library.set_preference(made, kMostWorkspace, &kWorkspaceBytes, sizeof(kWorkspaceBytes)),
      "cublasLtMatmulPreferenceSetAttribute MAX_WORKSPACE_BYTES");
  const std::uint32_t alignments[] = {
      product.b.alignment, product.a.alignment,
      product.added ? product.added->alignment : product.result.alignment,
      product.result.alignment};
  for (int i = 0; i < 4; ++i) {
    handle.check(
        library.set_preference(made, kAlignment + i, &alignments[i], sizeof(alignments[i])),
        "cublasLtMatmulPreferenceSetAttribute MIN_ALIGNMENT");
  }
  return preference;
}

// cublasLtMatmulHeuristicResult_t
struct Proposal {
  std::array<std::uint64_t, 8> algorithm = {};
  std::size_t workspace_bytes = 0;
  Status state = 0;
  float waves = 0;
  int reserved[4] = {};
};
static_assert(sizeof(Proposal) == 96);

// Attributes of cublasLtMatmulAlgoConfigAttributes_t, and how many bytes each has.
struct ConfigAttribute {
  int number = 0;
  std::size_t bytes = 4;
};
constexpr ConfigAttribute kConfig[] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7, 2}, {8, 2}};

ProductChoice choice_of(const CublasLt& library, const Proposal& proposal) {
  ProductChoice choice{.algorithm = proposal.algorithm,
                       .workspace_bytes = static_cast<std::int64_t>(proposal.workspace_bytes)};
  for (const ConfigAttribute& attribute : kConfig) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    const Status status = library.algorithm(proposal.algorithm.data(), attribute.number, &value,
                                            attribute.bytes, &written);
    const std::string text = status == 0 ? std::to_string(value) : "?";
    if (attribute.number == 0) choice.name = "cublaslt " + text;
    choice.key += (choice.key.empty() ? "cublaslt " : ".") + text;
  }
  return choice;
}

}  // namespace

CublasLtHandle::CublasLtHandle(const Device& device)
    : functions_(device.libraries().cublaslt
                     ? *device.libraries().cublaslt
                     : throw Error(ErrorKind::Failed, "there is no cuBLASLt on this machine")) {
  Handle made = nullptr;
  check(functions_.create(&made), "cublasLtCreate");
  handle_ = {made, functions_.destroy};
}

void CublasLtHandle::check(Status status, std::string_view call) const {
  if (status == 0) return;
  const char* name = functions_.status_name(status);
  fail_running("{} fails: {}", call, name == nullptr ? std::to_string(status) : name);
}

namespace {

// A product with its operands.
class Call {
 public:
  Call(std::shared_ptr<const CublasLtHandle> handle, const Product& product,
       const ProductChoice& choice, const ProductOperands& operands)
      : handle_(std::move(handle)),
        descriptors_(*handle_, product),
        choice_(choice),
        operands_(operands),
        alpha_(scale_of(product.alpha, descriptors_.types().scale)),
        beta_(scale_of(product.added ? product.beta : 0, descriptors_.types().scale)) {
    if (product.has_bias) descriptors_.set_bias(operands.bias);
    if (!product.added) operands_.added = operands_.result;
  }

  void run(const Stream& stream) const {
    const auto pointer = [](DevicePointer address) { return reinterpret_cast<void*>(address); };
    handle_->check(
        handle_->functions().multiply(
            handle_->get(), descriptors_.product(), &alpha_, pointer(operands_.b),
            descriptors_.first(), pointer(operands_.a), descriptors_.second(), &beta_,
            pointer(operands_.added), descriptors_.added(), pointer(operands_.result),
            descriptors_.result(), choice_.algorithm.data(), pointer(operands_.workspace),
            static_cast<std::size_t>(choice_.workspace_bytes), stream.get()),
        "cublasLtMatmul");
  }

 private:
  std::shared_ptr<const CublasLtHandle> handle_;
  Descriptors descriptors_;
  ProductChoice choice_;
  ProductOperands operands_;
  Scale alpha_;
  Scale beta_;
};

}  // namespace

CublasLtProduct::CublasLtProduct(std::shared_ptr<const CublasLtHandle> handle,
                                 const Product& product)
    : handle_(std::move(handle)), product_(product) {}

// The address of the bias tells the library how it is aligned; it is not read here.
std::vector<ProductChoice> CublasLtProduct::choices(int most) const {
  Descriptors descriptors(*handle_, product_);
  if (product_.has_bias) descriptors.set_bias(product_.bias_alignment);
  const Owned preference = preference_of(*handle_, product_);
  std::vector<Proposal> proposals(static_cast<std::size_t>(most));
  int count = 0;
  handle_->check(
      handle_->functions().choices(handle_->get(), descriptors.product(), descriptors.first(),
                                   descriptors.second(), descriptors.added(), descriptors.result(),
                                   preference.get(), most, proposals.data(), &count),
      "cublasLtMatmulAlgoGetHeuristic");
  proposals.resize(static_cast<std::size_t>(std::clamp(count, 0, most)));
  std::vector<ProductChoice> choices;
  for (const Proposal& proposal : proposals)
    if (proposal.state == 0) choices.push_back(choice_of(handle_->functions(), proposal));
  return choices;
}

std::function<void(const Stream&)> CublasLtProduct::bind(const ProductChoice& choice,
                                                         const ProductOperands& operands) const {
  const auto call = std::make_shared<const Call>(handle_, product_, choice, operands);
  return [call](const Stream& stream) { call->run(stream); };
}

}  // namespace assay::gpu
