// A cuDNN that there is not: takes descriptors of its backend API, checks attributes, types, counts
// and the order of finalising as the library documents them, and computes graphs of a convolution
// and what follows it plainly. It can be used if FAKE_CUDA_LIBRARIES is 1. Of its engines, 0
// computes; 1 uses tensor cores; 2 takes a workspace, as Winograd does; 3 does not support what it
// proposes; 4 computes wrong numbers. FAKE_CUDA_ENGINE_MS says how long those without a workspace
// take, FAKE_CUDA_WORKSPACE_MS how long the other one does, and FAKE_CUDA_ENGINE_KERNEL what the
// kernel is called that the former launch. A graph with a swish is not supported.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fake_work.h"

namespace fake::cudnn {

namespace {

using fake::Stored;

constexpr int kNotInitialised = 1001;
constexpr int kBadParameter = 2000;
constexpr int kNotFinalised = 2004;
constexpr int kNotSupported = 3000;
constexpr int kGraphNotSupported = 3001;
constexpr std::int64_t kWorkspaceBytes = 4096;

std::string last_error;

int fail(int status, std::string why) {
  last_error = std::move(why);
  return status;
}

enum Type {
  kHandle,
  kDataType,
  kBoolean,
  kInt64,
  kFloat,
  kDouble,
  kPointer,
  kConvolutionMode,
  kHeuristicMode,
  kKnob,
  kNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15
};

std::size_t bytes_of(int type) {
  if (type == kBoolean) return 1;
  const bool is_long = type == kHandle || type == kInt64 || type == kDouble || type == kPointer ||
                       type == kDescriptor;
  return is_long ? 8 : 4;
}

struct Value {
  int type = 0;
  std::vector<char> bytes;
  template <typename Number>
  std::vector<Number> as() const {
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
};

struct Descriptor {
  int kind = 0;
  bool is_final = false;
  std::map<int, Value> values;

  bool has(int attribute) const { return values.count(attribute) != 0; }
  std::vector<std::int64_t> longs(int attribute) const {
    return has(attribute) ? values.at(attribute).as<std::int64_t>() : std::vector<std::int64_t>{};
  }
  std::int64_t number(int attribute) const { return longs(attribute).at(0); }
  int word(int attribute) const { return values.at(attribute).as<int>().at(0); }
  const Descriptor& part(int attribute) const {
    return *values.at(attribute).as<const Descriptor*>().at(0);
  }
  std::vector<const Descriptor*> parts(int attribute) const {
    return values.at(attribute).as<const Descriptor*>();
  }
  double factor(int attribute) const {
    const Value& value = values.at(attribute);
    return value.type == kFloat ? value.as<float>().at(0) : value.as<double>().at(0);
  }
};

struct Attribute {
  int kind;  // of descriptor
  std::vector<int> types;
  std::int64_t most = 1;
  bool is_required = true;
  int part = -1;  // the kind of descriptors it takes
};

const std::map<int, Attribute> kAttributes = {
    {0, {0, {kPointwiseMode}}},
    {1, {0, {kDataType}}},
    {3, {0, {kDouble}, 1, false}},
    {4, {0, {kDouble}, 1, false}},
    {100, {1, {kDataType}}},
    {101, {1, {kConvolutionMode}}},
    {102, {1, {kInt64}, 3}},
    {103, {1, {kInt64}, 3}},
    {104, {1, {kInt64}, 3}},
    {105, {1, {kInt64}, 3}},
    {106, {1, {kInt64}}},
    {200, {4, {kHeuristicMode}}},
    {201, {4, {kDescriptor}, 1, true, 15}},
    {400, {5, {kHandle}}},
    {401, {5, {kDescriptor}, 1, true, 3}},
    {700, {10, {kFloat, kDouble}}},
    {701, {10, {kFloat, kDouble}}},
    {702, {10, {kDescriptor}, 1, true, 1}},
    {703, {10, {kDescriptor}, 1, true, 17}},
    {704, {10, {kDescriptor}, 1, true, 17}},
    {705, {10, {kDescriptor}, 1, true, 17}},
    {706, {12, {kFloat, kDouble}}},
    {707, {12, {kFloat, kDouble}}},
    {708, {12, {kDescriptor}, 1, true, 1}},
    {709, {12, {kDescriptor}, 1, true, 17}},
    {710, {12, {kDescriptor}, 1, true, 17}},
    {711, {12, {kDescriptor}, 1, true, 17}},
    {712, {11, {kFloat, kDouble}}},
    {713, {11, {kFloat, kDouble}}},
    {714, {11, {kDescriptor}, 1, true, 1}},
    {715, {11, {kDescriptor}, 1, true, 17}},
    {716, {11, {kDescriptor}, 1, true, 17}},
    {717, {11, {kDescriptor}, 1, true, 17}},
    {750, {13, {kDescriptor}, 1, true, 0}},
    {751, {13, {kDescriptor}, 1, true, 17}},
    {752, {13, {kDescriptor}, 1, false, 17}},
    {753, {13, {kDescriptor}, 1, true, 17}},
    {754, {13, {kFloat, kDouble}, 1, false}},
    {755, {13, {kFloat, kDouble}, 1, false}},
    {800, {15, {kHandle}}},
    {801, {15, {kDescriptor}, 50}},
    {900, {17, {kInt64}}},
    {901, {17, {kDataType}}},
    {902, {17, {kInt64}, 8}},
    {903, {17, {kInt64}, 8}},
    {906, {17, {kInt64}}},
    {907, {17, {kBoolean}, 1, false}},
    {1000, {16, {kInt64}, 16}},
    {1001, {16, {kPointer}, 16}},
    {1003, {16, {kPointer}, 1, false}},
};

Stored stored(int type) {
  if (type == 1) return Stored::Float64;
  if (type == 2) return Stored::Float16;
  return type == 9 ? Stored::BFloat16 : Stored::Float32;
}

bool is_virtual(const Descriptor& tensor) {
  return tensor.has(907) && tensor.values.at(907).bytes.at(0) != 0;
}

// --- what finalising checks

const Descriptor& convolution_of(const Descriptor& operation) {
  return operation.part(operation.kind == 10 ? 702 : operation.kind == 11 ? 714 : 708);
}

// Image, weight and result as a forward convolution sees them.
struct Tensors {
  const Descriptor& image;
  const Descriptor& weight;
  const Descriptor& result;
};
Tensors tensors_of(const Descriptor& operation) {
  if (operation.kind == 10) return {operation.part(704), operation.part(703), operation.part(705)};
  if (operation.kind == 11) return {operation.part(716), operation.part(715), operation.part(717)};
  return {operation.part(710), operation.part(709), operation.part(711)};
}

int check_convolution(const Descriptor& operation) {
  const Descriptor& how = convolution_of(operation);
  const Tensors tensors = tensors_of(operation);
  const auto image = tensors.image.longs(902);
  const auto weight = tensors.weight.longs(902);
  const auto result = tensors.result.longs(902);
  const auto axes = static_cast<std::size_t>(how.number(106));
  if (image.size() != axes + 2 || weight.size() != image.size() || result.size() != image.size())
    return fail(kBadParameter, "tensors of other dimensions than the convolution");
  for (const int attribute : {102, 103, 104, 105})
    if (how.longs(attribute).size() != axes) return fail(kBadParameter, "an axis is missing");
  if (image[1] % weight[1] != 0 || result[1] != weight[0] || image[0] != result[0])
    return fail(kBadParameter, "channels do not fit");
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = (weight[i + 2] - 1) * how.longs(102)[i] + 1;
    const std::int64_t padded = image[i + 2] + how.longs(104)[i] + how.longs(105)[i];
    if ((padded - extent) / how.longs(103)[i] + 1 != result[i + 2])
      return fail(kBadParameter, "the result has another shape");
  }
  return 0;
}

int check_tensor(const Descriptor& tensor) {
  if (tensor.longs(902).size() != tensor.longs(903).size() || tensor.longs(902).size() < 4)
    return fail(kBadParameter, "dimensions and strides do not fit");
  return 0;
}

const Descriptor& result_of(const Descriptor& operation) {
  static const std::map<int, int> kAttributes = {{10, 705}, {11, 715}, {12, 710}, {13, 753}};
  return operation.part(kAttributes.at(operation.kind));
}

// Each operation's result is virtual but for the last one's, and the next one reads it.
int check_graph(const Descriptor& graph) {
  const auto operations = graph.parts(801);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Descriptor& one = *operations[i];
    if (i == 0 && (one.kind < 10 || one.kind > 12))
      return fail(kGraphNotSupported, "the first operation is no convolution");
    const Descriptor& result = result_of(one);
    const bool is_last = i + 1 == operations.size();
    if (is_virtual(result) == is_last) return fail(kBadParameter, "a wrong tensor is virtual");
    if (!is_last && &operations[i + 1]->part(751) != &result)
      return fail(kBadParameter, "operations are not connected");
    if (one.kind == 13 && one.part(750).word(0) == 106)
      return fail(kGraphNotSupported, "no swish behind a convolution");
    if (one.kind == 13 && one.part(750).word(0) == 0 && !one.has(752))
      return fail(kBadParameter, "an addition of one tensor");
  }
  return 0;
}

int check(const Descriptor& descriptor) {
  for (const auto& [number, attribute] : kAttributes)
    if (attribute.kind == descriptor.kind && attribute.is_required && !descriptor.has(number))
      return fail(kBadParameter, "attribute " + std::to_string(number) + " is missing");
  switch (descriptor.kind) {
    case 5:
      return descriptor.part(401).number(-1) == 3 ? fail(kNotSupported, "engine 3 does not") : 0;
    case 10:
    case 11:
    case 12:
      return check_convolution(descriptor);
    case 15:
      return check_graph(descriptor);
    case 16:
      return descriptor.longs(1000).size() == descriptor.longs(1001).size()
                 ? 0
                 : fail(kBadParameter, "as many addresses as names");
    case 17:
      return check_tensor(descriptor);
    case 4:
      return descriptor.word(200) == 1 ? fail(kNotSupported, "no mode B") : 0;
    default:
      return 0;
  }
}

// --- what is asked for

void set_long(Descriptor& descriptor, int attribute, std::int64_t number) {
  Value& value = descriptor.values[attribute];
  value.type = kInt64;
  value.bytes.resize(sizeof(number));
  std::memcpy(value.bytes.data(), &number, sizeof(number));
}

// Engine configurations hold the engine's number (-1) and the graph (-2), engines likewise.
int engine_configurations(const Descriptor& heuristics, std::int64_t most, std::int64_t* count,
                          void* values) {
  std::vector<std::int64_t> engines = {4, 2, 1, 0, 3};
  if (heuristics.word(200) == 2) engines = {0};
  *count = static_cast<std::int64_t>(engines.size());
  if (values == nullptr) return 0;
  *count = std::min(most, *count);
  for (std::int64_t i = 0; i < *count; ++i) {
    Descriptor& into = *static_cast<Descriptor**>(values)[i];
    if (into.kind != 3 || into.is_final) return fail(kBadParameter, "no empty configuration");
    into.is_final = true;
    set_long(into, -1, engines[static_cast<std::size_t>(i)]);
    into.values[-2] = heuristics.values.at(201);
  }
  return 0;
}

int engine_of(const Descriptor& configuration, std::int64_t* count, void* values) {
  Descriptor& into = **static_cast<Descriptor**>(values);
  if (into.kind != 2 || into.is_final) return fail(kBadParameter, "no empty engine");
  into.is_final = true;
  into.values = configuration.values;
  *count = 1;
  return 0;
}

// Tensor cores; Winograd with tiles of 6 · 6.
int notes_of(const Descriptor& engine, std::int64_t most, std::int64_t* count, void* values) {
  const std::int64_t number = engine.number(-1);
  std::vector<int> notes;
  if (number == 1) notes = {0};
  if (number == 2) notes = {5, 7};
  *count = static_cast<std::int64_t>(notes.size());
  if (values == nullptr) return 0;
  *count = std::min(*count, most);
  std::copy_n(notes.begin(), *count, static_cast<int*>(values));
  return 0;
}

int knobs_of(std::int64_t most, std::int64_t* count, void* values) {
  *count = 1;
  if (most < 1 || values == nullptr) return 0;
  Descriptor& into = **static_cast<Descriptor**>(values);
  if (into.kind != 7) return fail(kBadParameter, "no choice of a knob");
  into.is_final = true;
  return 0;
}

int write_long(std::int64_t number, std::int64_t* count, void* values) {
  *count = 1;
  *static_cast<std::int64_t*>(values) = number;
  return 0;
}

// --- running

using Numbers = std::vector<double>;

std::int64_t elements(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

// Tensors are computed row by row, whatever their strides.
class Run {
 public:
  Run(const Descriptor& plan, const Descriptor& pack) : graph_(plan.part(401).part(-2)) {
    engine_ = plan.part(401).number(-1);
    const auto ids = pack.longs(1000);
    const auto pointers = pack.values.at(1001).as<char*>();
    for (std::size_t i = 0; i < ids.size(); ++i) pointers_[ids[i]] = pointers[i];
  }

  bool has_all_tensors() const {
    for (const Descriptor* operation : graph_.parts(801)) {
      for (const auto& [attribute, value] : operation->values) {
        if (value.type != kDescriptor || kAttributes.at(attribute).part != 17) continue;
        const Descriptor& tensor = operation->part(attribute);
        if (!is_virtual(tensor) && pointers_.count(tensor.number(906)) == 0) return false;
      }
    }
    return true;
  }

  void run() const {
    Numbers numbers;
    for (const Descriptor* operation : graph_.parts(801)) {
      const Descriptor& result = result_of(*operation);
      numbers = operation->kind == 13 ? pointwise(*operation, numbers) : convolution(*operation);
      if (!is_virtual(result)) write(result, numbers);
    }
  }

 private:
  static std::size_t offset(const Descriptor& tensor, std::int64_t element) {
    const auto dims = tensor.longs(902);
    const auto strides = tensor.longs(903);
    std::int64_t at = 0;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      at += element % dims[axis] * strides[axis];
      element /= dims[axis];
    }
    return static_cast<std::size_t>(at);
  }

  Numbers read(const Descriptor& tensor) const {
    Numbers numbers(static_cast<std::size_t>(elements(tensor.longs(902))));
    const char* from = pointers_.at(tensor.number(906));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] =
          fake::load(stored(tensor.word(901)), from, offset(tensor, static_cast<std::int64_t>(i)));
    return numbers;
  }

  void write(const Descriptor& tensor, const Numbers& numbers) const {
    char* to = pointers_.at(tensor.number(906));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      fake::store(stored(tensor.word(901)), to, offset(tensor, static_cast<std::int64_t>(i)),
                  numbers[i] + (engine_ == 4 ? 1 : 0));
  }

  Numbers convolution(const Descriptor& operation) const {
    const Tensors tensors = tensors_of(operation);
    const Descriptor& how = convolution_of(operation);
    const auto image = tensors.image.longs(902);
    const auto weight = tensors.weight.longs(902);
    const auto result = tensors.result.longs(902);
    const std::size_t axes = image.size() - 2;
    const std::int64_t groups = image[1] / weight[1];
    const std::int64_t filters = weight[0] / groups;
    // Two of the three are given, the third is a sum of their products.
    const auto numbers = [&](const Descriptor& tensor) {
      return &tensor == &result_of(operation)
                 ? Numbers(static_cast<std::size_t>(elements(tensor.longs(902))))
                 : read(tensor);
    };
    Numbers images = numbers(tensors.image);
    Numbers weights = numbers(tensors.weight);
    Numbers results = numbers(tensors.result);
    const std::vector<std::int64_t> taps(weight.begin() + 2, weight.end());
    const std::vector<std::int64_t> windows(result.begin() + 2, result.end());
    const std::vector<std::int64_t> pixels(image.begin() + 2, image.end());
    for (std::int64_t window = 0; window < elements(windows); ++window) {
      for (std::int64_t tap = 0; tap < elements(taps); ++tap) {
        std::int64_t pixel = 0;
        std::int64_t scale = 1;
        std::int64_t w = window;
        std::int64_t t = tap;
        bool is_inside = true;
        for (std::size_t axis = axes; axis-- > 0;) {
          const std::int64_t at = w % windows[axis] * how.longs(103)[axis] - how.longs(105)[axis] +
                                  t % taps[axis] * how.longs(102)[axis];
          is_inside = is_inside && at >= 0 && at < pixels[axis];
          pixel += at * scale;
          scale *= pixels[axis];
          w /= windows[axis];
          t /= taps[axis];
        }
        if (!is_inside) continue;
        for (std::int64_t n = 0; n < image[0]; ++n) {
          for (std::int64_t k = 0; k < weight[0]; ++k) {
            for (std::int64_t c = 0; c < weight[1]; ++c) {
              const std::int64_t channel = k / filters * weight[1] + c;
              const auto in =
                  static_cast<std::size_t>((n * image[1] + channel) * elements(pixels) + pixel);
              const auto out =
                  static_cast<std::size_t>((n * result[1] + k) * elements(windows) + window);
              const auto by = static_cast<std::size_t>((k * weight[1] + c) * elements(taps) + tap);
              if (operation.kind == 10) results[out] += images[in] * weights[by];
              if (operation.kind == 11) weights[by] += images[in] * results[out];
              if (operation.kind == 12) images[in] += results[out] * weights[by];
            }
          }
        }
      }
    }
    return operation.kind == 10 ? results : operation.kind == 11 ? weights : images;
  }

  static double activated(const Descriptor& how, double x) {
    switch (how.word(0)) {
      case 100: {
        const double lower = how.has(3) ? how.factor(3) : 0;
        const double upper = how.has(4) ? how.factor(4) : INFINITY;
        return std::min(std::max(x, lower), upper);
      }
      case 101:
        return std::tanh(x);
      case 102:
        return 1 / (1 + std::exp(-x));
      case 104:
        return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      case 107:
        return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
      default:
        return x;
    }
  }

  Numbers pointwise(const Descriptor& operation, Numbers numbers) const {
    const Descriptor& how = operation.part(750);
    if (!operation.has(752)) {
      for (double& number : numbers) number = activated(how, number);
      return numbers;
    }
    const Descriptor& other = operation.part(752);
    const double factor = operation.has(755) ? operation.factor(755) : 1;
    if (factor == 0) return numbers;
    const Numbers added = read(other);
    const auto dims = result_of(operation).longs(902);
    const std::int64_t pixels = elements(dims) / dims[0] / dims[1];
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto channel =
          static_cast<std::size_t>(static_cast<std::int64_t>(i) / pixels % dims[1]);
      numbers[i] += factor * (added.size() == numbers.size() ? added[i] : added[channel]);
    }
    return numbers;
  }

  const Descriptor& graph_;
  std::int64_t engine_ = 0;
  std::map<std::int64_t, char*> pointers_;
};

// What a captured graph tells of an engine; it outlives the environment that says so.
const char* kernel_of(std::int64_t engine) {
  static std::set<std::string> names;
  const char* told = std::getenv("FAKE_CUDA_ENGINE_KERNEL");
  const std::string other = told == nullptr ? "sm80_xmma_fprop_implicit_gemm_f32f32" : told;
  return names.insert(engine == 2 ? "winogradForwardData4x4" : other).first->c_str();
}

void* workspace_of(const Descriptor& pack) {
  return pack.has(1003) ? pack.values.at(1003).as<void*>().at(0) : nullptr;
}

}  // namespace

}  // namespace fake::cudnn

using namespace fake::cudnn;

extern "C" {

std::size_t cudnnGetVersion() {
  return 91900;
}
const char* cudnnGetErrorString(int status) {
  if (status == kNotInitialised) return "CUDNN_STATUS_NOT_INITIALIZED";
  if (status == kBadParameter) return "CUDNN_STATUS_BAD_PARAM";
  if (status == kNotFinalised) return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
  return status == kGraphNotSupported ? "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN"
                                      : "CUDNN_STATUS_NOT_SUPPORTED";
}
void cudnnGetLastErrorString(char* message, std::size_t size) {
  std::strncpy(message, last_error.c_str(), size - 1);
}
int cudnnCreate(void** handle) {
  if (fake::setting("FAKE_CUDA_LIBRARIES", 0) == 0) return fail(kNotInitialised, "not asked for");
  *handle = new void*(nullptr);
  return 0;
}
int cudnnDestroy(void* handle) {
  delete static_cast<void**>(handle);
  return 0;
}
int cudnnSetStream(void* handle, void* stream) {
  *static_cast<void**>(handle) = stream;
  return 0;
}
int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  *descriptor = new Descriptor{kind, false, {}};
  return 0;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return 0;
}
int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, std::int64_t count,
                             const void* values) {
  auto& to = *static_cast<Descriptor*>(descriptor);
  if (to.is_final) return fail(kBadParameter, "the descriptor is final");
  const auto known = kAttributes.find(attribute);
  if (known == kAttributes.end() || known->second.kind != to.kind)
    return fail(kBadParameter, "an attribute of another descriptor");
  const Attribute& what = known->second;
  if (std::find(what.types.begin(), what.types.end(), type) == what.types.end() || count < 1 ||
      count > what.most)
    return fail(kBadParameter, "a wrong type or count");
  Value value{type, std::vector<char>(bytes_of(type) * static_cast<std::size_t>(count))};
  std::memcpy(value.bytes.data(), values, value.bytes.size());
  if (type == kDescriptor) {
    for (const Descriptor* part : value.as<const Descriptor*>()) {
      if (!part->is_final) return fail(kNotFinalised, "a part is not final");
      if (what.part >= 0 && part->kind != what.part) return fail(kBadParameter, "a wrong part");
    }
  }
  to.values[attribute] = std::move(value);
  return 0;
}
int cudnnBackendFinalize(void* descriptor) {
  auto& what = *static_cast<Descriptor*>(descriptor);
  if (what.is_final) return fail(kBadParameter, "the descriptor is final");
  const int status = check(what);
  what.is_final = status == 0;
  return status;
}
int cudnnBackendGetAttribute(void* descriptor, int attribute, int type, std::int64_t most,
                             std::int64_t* count, void* values) {
  const auto& from = *static_cast<Descriptor*>(descriptor);
  if (!from.is_final) return fail(kNotFinalised, "asked before it is final");
  if (from.kind == 4 && attribute == 202 && type == kDescriptor)
    return engine_configurations(from, most, count, values);
  if (from.kind == 3 && attribute == 300 && type == kDescriptor && most == 1)
    return engine_of(from, count, values);
  if (from.kind == 3 && attribute == 302 && type == kDescriptor)
    return knobs_of(most, count, values);
  if (from.kind == 2 && attribute == 1303 && type == kNote)
    return notes_of(from, most, count, values);
  if (from.kind == 2 && attribute == 1301 && type == kInt64)
    return write_long(from.number(-1), count, values);
  if (from.kind == 5 && attribute == 402 && type == kInt64)
    return write_long(from.part(401).number(-1) == 2 ? kWorkspaceBytes : 0, count, values);
  if (from.kind == 7 && attribute == 601 && type == kInt64) return write_long(1, count, values);
  if (from.kind == 7 && attribute == 600 && type == kKnob) {
    *count = 1;
    *static_cast<int*>(values) = 2;
    return 0;
  }
  return fail(kBadParameter, "an attribute that cannot be asked for");
}
int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  const auto& what = *static_cast<Descriptor*>(plan);
  const auto& with = *static_cast<Descriptor*>(pack);
  if (*static_cast<void**>(handle) == nullptr) return fail(kBadParameter, "no stream");
  if (what.kind != 5 || with.kind != 16 || !what.is_final || !with.is_final)
    return fail(kBadParameter, "a plan and a pack are needed");
  const auto run = std::make_shared<Run>(what, with);
  void* workspace = workspace_of(with);
  const bool takes_workspace = what.part(401).number(-1) == 2;
  if (!run->has_all_tensors() || (takes_workspace && workspace == nullptr))
    return fail(kBadParameter, "an address is missing");
  const auto work = [=] {
    if (takes_workspace) std::memset(workspace, 0x55, kWorkspaceBytes);
    run->run();
    if (takes_workspace) std::memset(workspace, 0xaa, kWorkspaceBytes);
    fake::add_milliseconds(
        fake::setting(takes_workspace ? "FAKE_CUDA_WORKSPACE_MS" : "FAKE_CUDA_ENGINE_MS", 0));
    fake::add_milliseconds(fake::setting("FAKE_CUDA_LIBRARY_MS", 0));
  };
  return fake::run_or_record(work, kernel_of(what.part(401).number(-1)));
}

}  // extern "C"
