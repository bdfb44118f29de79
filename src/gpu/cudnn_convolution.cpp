#include "gpu/cudnn_convolution.h"

#include <algorithm>
#include <array>

#include "base/fail.h"

namespace assay::gpu {

namespace {

// Of cudnnBackendDescriptorType_t.
constexpr CudnnName kPointwise{0, "POINTWISE_DESCRIPTOR"};
constexpr CudnnName kConvolution{1, "CONVOLUTION_DESCRIPTOR"};
constexpr CudnnName kEngine{2, "ENGINE_DESCRIPTOR"};
constexpr CudnnName kConfiguration{3, "ENGINECFG_DESCRIPTOR"};
constexpr CudnnName kHeuristics{4, "ENGINEHEUR_DESCRIPTOR"};
constexpr CudnnName kExecutionPlan{5, "EXECUTION_PLAN_DESCRIPTOR"};
constexpr CudnnName kKnobChoice{7, "KNOB_CHOICE_DESCRIPTOR"};
constexpr CudnnName kForward{10, "OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR"};
constexpr CudnnName kBackwardFilter{11, "OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR"};
constexpr CudnnName kBackwardData{12, "OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR"};
constexpr CudnnName kPointwiseOperation{13, "OPERATION_POINTWISE_DESCRIPTOR"};
constexpr CudnnName kOperationGraph{15, "OPERATIONGRAPH_DESCRIPTOR"};
constexpr CudnnName kVariantPack{16, "VARIANT_PACK_DESCRIPTOR"};
constexpr CudnnName kTensor{17, "TENSOR_DESCRIPTOR"};

// Of cudnnBackendAttributeName_t.
constexpr CudnnName kPointwiseMode{0, "POINTWISE_MODE"};
constexpr CudnnName kPointwisePrecision{1, "POINTWISE_MATH_PREC"};
constexpr CudnnName kReluLower{3, "POINTWISE_RELU_LOWER_CLIP"};
constexpr CudnnName kReluUpper{4, "POINTWISE_RELU_UPPER_CLIP"};
constexpr CudnnName kConvolutionPrecision{100, "CONVOLUTION_COMP_TYPE"};
constexpr CudnnName kConvolutionMode{101, "CONVOLUTION_CONV_MODE"};
constexpr CudnnName kDilations{102, "CONVOLUTION_DILATIONS"};
constexpr CudnnName kStrides{103, "CONVOLUTION_FILTER_STRIDES"};
constexpr CudnnName kPadsEnd{104, "CONVOLUTION_POST_PADDINGS"};
constexpr CudnnName kPadsBegin{105, "CONVOLUTION_PRE_PADDINGS"};
constexpr CudnnName kSpatialAxes{106, "CONVOLUTION_SPATIAL_DIMS"};
constexpr CudnnName kHeuristicMode{200, "ENGINEHEUR_MODE"};
constexpr CudnnName kHeuristicGraph{201, "ENGINEHEUR_OPERATION_GRAPH"};
constexpr CudnnName kHeuristicResults{202, "ENGINEHEUR_RESULTS"};
constexpr CudnnName kConfiguredEngine{300, "ENGINECFG_ENGINE"};
constexpr CudnnName kKnobChoices{302, "ENGINECFG_KNOB_CHOICES"};
constexpr CudnnName kPlanHandle{400, "EXECUTION_PLAN_HANDLE"};
constexpr CudnnName kPlanConfiguration{401, "EXECUTION_PLAN_ENGINE_CONFIG"};
constexpr CudnnName kPlanWorkspace{402, "EXECUTION_PLAN_WORKSPACE_SIZE"};
constexpr CudnnName kKnobType{600, "KNOB_CHOICE_KNOB_TYPE"};
constexpr CudnnName kKnobValue{601, "KNOB_CHOICE_KNOB_VALUE"};
constexpr CudnnName kForwardAlpha{700, "OPERATION_CONVOLUTION_FORWARD_ALPHA"};
constexpr CudnnName kForwardBeta{701, "OPERATION_CONVOLUTION_FORWARD_BETA"};
constexpr CudnnName kForwardConvolution{702, "OPERATION_CONVOLUTION_FORWARD_CONV_DESC"};
constexpr CudnnName kForwardWeight{703, "OPERATION_CONVOLUTION_FORWARD_W"};
constexpr CudnnName kForwardImage{704, "OPERATION_CONVOLUTION_FORWARD_X"};
constexpr CudnnName kForwardResult{705, "OPERATION_CONVOLUTION_FORWARD_Y"};
constexpr CudnnName kBackwardAlpha{706, "OPERATION_CONVOLUTION_BWD_DATA_ALPHA"};
constexpr CudnnName kBackwardBeta{707, "OPERATION_CONVOLUTION_BWD_DATA_BETA"};
constexpr CudnnName kBackwardConvolution{708, "OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC"};
constexpr CudnnName kBackwardWeight{709, "OPERATION_CONVOLUTION_BWD_DATA_W"};
constexpr CudnnName kBackwardResult{710, "OPERATION_CONVOLUTION_BWD_DATA_DX"};
constexpr CudnnName kBackwardImage{711, "OPERATION_CONVOLUTION_BWD_DATA_DY"};
constexpr CudnnName kFilterAlpha{712, "OPERATION_CONVOLUTION_BWD_FILTER_ALPHA"};
constexpr CudnnName kFilterBeta{713, "OPERATION_CONVOLUTION_BWD_FILTER_BETA"};
constexpr CudnnName kFilterConvolution{714, "OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC"};
constexpr CudnnName kFilterResult{715, "OPERATION_CONVOLUTION_BWD_FILTER_DW"};
constexpr CudnnName kFilterImage{716, "OPERATION_CONVOLUTION_BWD_FILTER_X"};
constexpr CudnnName kFilterGradient{717, "OPERATION_CONVOLUTION_BWD_FILTER_DY"};
constexpr CudnnName kPointwiseDescriptor{750, "OPERATION_POINTWISE_PW_DESCRIPTOR"};
constexpr CudnnName kPointwiseX{751, "OPERATION_POINTWISE_XDESC"};
constexpr CudnnName kPointwiseB{752, "OPERATION_POINTWISE_BDESC"};
constexpr CudnnName kPointwiseY{753, "OPERATION_POINTWISE_YDESC"};
constexpr CudnnName kPointwiseAlpha1{754, "OPERATION_POINTWISE_ALPHA1"};
constexpr CudnnName kPointwiseAlpha2{755, "OPERATION_POINTWISE_ALPHA2"};
constexpr CudnnName kGraphHandle{800, "OPERATIONGRAPH_HANDLE"};
constexpr CudnnName kGraphOperations{801, "OPERATIONGRAPH_OPS"};
constexpr CudnnName kTensorAlignment{900, "TENSOR_BYTE_ALIGNMENT"};
constexpr CudnnName kTensorType{901, "TENSOR_DATA_TYPE"};
constexpr CudnnName kTensorDims{902, "TENSOR_DIMENSIONS"};
constexpr CudnnName kTensorStrides{903, "TENSOR_STRIDES"};
constexpr CudnnName kTensorId{906, "TENSOR_UNIQUE_ID"};
constexpr CudnnName kTensorIsVirtual{907, "TENSOR_IS_VIRTUAL"};
constexpr CudnnName kPackIds{1000, "VARIANT_PACK_UNIQUE_IDS"};
constexpr CudnnName kPackPointers{1001, "VARIANT_PACK_DATA_POINTERS"};
constexpr CudnnName kPackWorkspace{1003, "VARIANT_PACK_WORKSPACE"};
constexpr CudnnName kEngineNumber{1301, "ENGINE_GLOBAL_INDEX"};
constexpr CudnnName kEngineNotes{1303, "ENGINE_NUMERICAL_NOTE"};

// Of cudnnDataType_t.
constexpr int kFloat = 0;
constexpr int kDouble = 1;
constexpr int kHalf = 2;
constexpr int kBfloat16 = 9;

constexpr int kCrossCorrelation = 1;
constexpr int kAdd = 0;

// Of cudnnBackendHeurMode_t.
constexpr int kModeB = 1;
constexpr int kModeFallback = 2;
constexpr int kModeA = 3;

// Of cudnnBackendNumericalNote_t.
constexpr int kTensorCore = 0;
constexpr int kDownConvertsInputs = 1;
constexpr int kReducedPrecisionSums = 2;
constexpr int kFft = 3;
constexpr int kNotDeterministic = 4;
constexpr int kWinograd = 5;
constexpr std::array<std::pair<int, std::int64_t>, 3> kWinogradTiles = {{{6, 4}, {7, 6}, {8, 13}}};
constexpr std::size_t kNoteKinds = 10;
constexpr std::size_t kKnobKinds = 44;

constexpr std::size_t kMostEngines = 12;
constexpr std::size_t kFewEngines = 2;

// Names of a graph's tensors that are in memory; those between operations follow.
enum TensorId : std::int64_t { kImageId = 1, kWeightId, kResultId, kAddedId, kBiasId, kBetweenId };

int data_type(NumberType type) {
  switch (type) {
    case NumberType::Float64:
      return kDouble;
    case NumberType::Float16:
      return kHalf;
    case NumberType::BFloat16:
      return kBfloat16;
    case NumberType::Float32:
      return kFloat;
    case NumberType::Float8:
    case NumberType::Int8:
      break;
  }
  fail_running("convolutions of 8 bits are not made by cuDNN here");
}

int pointwise_mode(CudnnActivation activation) {
  switch (activation) {
    case CudnnActivation::Sigmoid:
      return 102;
    case CudnnActivation::Tanh:
      return 101;
    case CudnnActivation::Swish:
      return 106;
    case CudnnActivation::Gelu:
      return 104;
    case CudnnActivation::GeluTanh:
      return 107;
    case CudnnActivation::None:
    case CudnnActivation::Relu:
    case CudnnActivation::ClippedRelu:
      break;
  }
  return 100;
}

// An operation and its attributes; `weight` is the second operand.
struct ConvolutionNames {
  CudnnName operation;
  CudnnName image;
  CudnnName weight;
  CudnnName result;
  CudnnName convolution;
  CudnnName alpha;
  CudnnName beta;
};

const ConvolutionNames& names_of(const CudnnConvolution& convolution) {
  static const ConvolutionNames kForwardNames = {
      kForward,      kForwardImage, kForwardWeight, kForwardResult, kForwardConvolution,
      kForwardAlpha, kForwardBeta};
  static const ConvolutionNames kDataNames = {
      kBackwardData,        kBackwardImage, kBackwardWeight, kBackwardResult,
      kBackwardConvolution, kBackwardAlpha, kBackwardBeta};
  static const ConvolutionNames kFilterNames = {
      kBackwardFilter,    kFilterImage, kFilterGradient, kFilterResult,
      kFilterConvolution, kFilterAlpha, kFilterBeta};
  if (convolution.is_weight_gradient) return kFilterNames;
  return convolution.is_transposed ? kDataNames : kForwardNames;
}

// The descriptors of a graph, kept while its plans live.
class GraphBuilder {
 public:
  GraphBuilder(const CudnnHandle& handle, const CudnnConvolution& convolution)
      : handle_(handle), convolution_(convolution) {}

  CudnnDescriptor build() {
    std::size_t stages = 1;
    if (convolution_.added) ++stages;
    if (convolution_.has_bias) ++stages;
    if (convolution_.activation != CudnnActivation::None) ++stages;
    left_ = stages;
    std::size_t last = add_convolution();
    if (convolution_.added) {
      const std::size_t added = tensor(kAddedId, *convolution_.added);
      last = add_pointwise(addition(), last, &added, convolution_.multiplies_added_by_0 ? 0 : 1);
    }
    if (convolution_.has_bias) {
      const std::size_t bias = tensor(kBiasId, bias_tensor());
      last = add_pointwise(addition(), last, &bias, 1);
    }
    if (convolution_.activation != CudnnActivation::None)
      last = add_pointwise(activation(), last, nullptr, 1);
    return graph();
  }
  // What the graph refers to.
  std::vector<CudnnDescriptor> take_parts() { return std::move(parts_); }

 private:
  std::size_t keep(CudnnDescriptor descriptor) {
    descriptor.finalize();
    parts_.push_back(std::move(descriptor));
    return parts_.size() - 1;
  }

  std::size_t tensor(std::int64_t id, const CudnnTensor& like, bool is_virtual = false) {
    CudnnDescriptor made(handle_, kTensor);
    // Between operations, numbers are as they were computed.
    const int type = is_virtual && data_type(convolution_.type) != kDouble
                         ? kFloat
                         : data_type(convolution_.type);
    made.set(kTensorType, CudnnType::DataType, type);
    made.set_all(kTensorDims, CudnnType::Int64, std::span(like.dims));
    made.set_all(kTensorStrides, CudnnType::Int64, std::span(like.strides));
    made.set(kTensorId, CudnnType::Int64, id);
    made.set(kTensorAlignment, CudnnType::Int64, like.alignment);
    if (is_virtual) made.set(kTensorIsVirtual, CudnnType::Boolean, is_virtual);
    return keep(std::move(made));
  }

  // The result of the next operation, which is in memory if it is the last one.
  std::size_t next_result() {
    --left_;
    if (left_ == 0) return tensor(kResultId, convolution_.result);
    return tensor(kBetweenId + static_cast<std::int64_t>(left_), convolution_.result, true);
  }

  CudnnTensor bias_tensor() const {
    CudnnTensor bias{
        .dims = convolution_.result.dims,
        .strides = std::vector(convolution_.result.dims.size(), convolution_.result.dims[1]),
        .alignment = convolution_.bias_alignment};
    std::ranges::fill(bias.dims, 1);
    bias.dims[1] = convolution_.result.dims[1];
    bias.strides[1] = 1;
    return bias;
  }

  int computed_type() const { return convolution_.type == NumberType::Float64 ? kDouble : kFloat; }

  void set_factor(CudnnDescriptor& operation, const CudnnName& attribute, double factor) const {
    if (computed_type() == kDouble) {
      operation.set(attribute, CudnnType::Double, factor);
    } else {
      operation.set(attribute, CudnnType::Float, static_cast<float>(factor));
    }
  }

  std::size_t convolution_descriptor() {
    CudnnDescriptor made(handle_, kConvolution);
    const auto axes = static_cast<std::int64_t>(convolution_.strides.size());
    made.set(kConvolutionPrecision, CudnnType::DataType, computed_type());
    made.set(kConvolutionMode, CudnnType::ConvolutionMode, kCrossCorrelation);
    made.set(kSpatialAxes, CudnnType::Int64, axes);
    made.set_all(kPadsBegin, CudnnType::Int64, std::span(convolution_.pads_begin));
    made.set_all(kPadsEnd, CudnnType::Int64, std::span(convolution_.pads_end));
    made.set_all(kDilations, CudnnType::Int64, std::span(convolution_.dilations));
    made.set_all(kStrides, CudnnType::Int64, std::span(convolution_.strides));
    return keep(std::move(made));
  }

  std::size_t add_convolution() {
    const ConvolutionNames& names = names_of(convolution_);
    const std::size_t descriptor = convolution_descriptor();
    const std::size_t image = tensor(kImageId, convolution_.image);
    const std::size_t weight = tensor(kWeightId, convolution_.weight);
    const std::size_t result = next_result();
    CudnnDescriptor made(handle_, names.operation);
    made.set(names.image, parts_[image]);
    made.set(names.weight, parts_[weight]);
    made.set(names.result, parts_[result]);
    made.set(names.convolution, parts_[descriptor]);
    set_factor(made, names.alpha, 1);
    set_factor(made, names.beta, 0);
    operations_.push_back(keep(std::move(made)));
    return result;
  }

  CudnnDescriptor pointwise(int mode) const {
    CudnnDescriptor made(handle_, kPointwise);
    made.set(kPointwiseMode, CudnnType::PointwiseMode, mode);
    made.set(kPointwisePrecision, CudnnType::DataType, computed_type());
    return made;
  }
  CudnnDescriptor addition() const { return pointwise(kAdd); }
  CudnnDescriptor activation() const {
    CudnnDescriptor made = pointwise(pointwise_mode(convolution_.activation));
    if (convolution_.activation == CudnnActivation::ClippedRelu) {
      made.set(kReluLower, CudnnType::Double, convolution_.lower);
      made.set(kReluUpper, CudnnType::Double, convolution_.upper);
    }
    return made;
  }

  std::size_t add_pointwise(CudnnDescriptor what, std::size_t x, const std::size_t* b,
                            double factor_of_b) {
    const std::size_t descriptor = keep(std::move(what));
    const std::size_t result = next_result();
    CudnnDescriptor made(handle_, kPointwiseOperation);
    made.set(kPointwiseDescriptor, parts_[descriptor]);
    made.set(kPointwiseX, parts_[x]);
    if (b != nullptr) made.set(kPointwiseB, parts_[*b]);
    made.set(kPointwiseY, parts_[result]);
    set_factor(made, kPointwiseAlpha1, 1);
    set_factor(made, kPointwiseAlpha2, factor_of_b);
    operations_.push_back(keep(std::move(made)));
    return result;
  }

  CudnnDescriptor graph() const {
    std::vector<Handle> operations;
    for (const std::size_t i : operations_) operations.push_back(parts_[i].get());
    CudnnDescriptor made(handle_, kOperationGraph);
    made.set_all(kGraphOperations, CudnnType::Descriptor, std::span<const Handle>(operations));
    const Handle library = handle_.get();
    made.set(kGraphHandle, CudnnType::Library, library);
    made.finalize();
    return made;
  }

  const CudnnHandle& handle_;
  const CudnnConvolution& convolution_;
  std::vector<CudnnDescriptor> parts_;
  std::vector<std::size_t> operations_;  // of parts_
  std::size_t left_ = 0;                 // operations to come
};

bool has(std::span<const int> notes, int note) {
  return std::ranges::find(notes, note) != notes.end();
}

// Whether an engine with these notes computes what was asked for.
bool is_faithful(const CudnnConvolution& convolution, std::span<const int> notes) {
  if (has(notes, kNotDeterministic) || has(notes, kReducedPrecisionSums)) return false;
  const bool is_real =
      convolution.type == NumberType::Float32 && convolution.math == Float32Math::Real;
  return !is_real || (!has(notes, kTensorCore) && !has(notes, kDownConvertsInputs));
}

std::int64_t winograd_tile(std::span<const int> notes) {
  for (const auto& [note, edge] : kWinogradTiles)
    if (has(notes, note)) return edge;
  return 0;
}

std::vector<int> notes_of(const CudnnDescriptor& engine) {
  std::vector<int> notes(kNoteKinds);
  const std::int64_t count =
      engine.get_values(kEngineNotes, CudnnType::NumericalNote,
                        static_cast<std::int64_t>(notes.size()), notes.data());
  notes.resize(std::min(notes.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  return notes;
}

// "2=3 11=1": an engine's settings.
std::string knobs_of(const CudnnHandle& handle, const CudnnDescriptor& configuration) {
  std::vector<CudnnDescriptor> knobs;
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < kKnobKinds; ++i) {
    knobs.emplace_back(handle, kKnobChoice);
    handles.push_back(knobs.back().get());
  }
  const std::int64_t count =
      configuration.get_values(kKnobChoices, CudnnType::Descriptor,
                               static_cast<std::int64_t>(handles.size()), handles.data());
  std::string text;
  for (std::size_t i = 0; i < std::min(knobs.size(), static_cast<std::size_t>(count)); ++i) {
    int type = 0;
    knobs[i].get_values(kKnobType, CudnnType::Knob, 1, &type);
    text += fmt::format(" {}={}", type, knobs[i].get_number(kKnobValue));
  }
  return text;
}

}  // namespace

struct CudnnGraph::Graph {
  std::shared_ptr<const CudnnHandle> handle;
  std::vector<CudnnDescriptor> parts;
  CudnnDescriptor graph;
};

struct CudnnPlan::Parts {
  std::shared_ptr<const CudnnHandle> handle;
  std::shared_ptr<const void> graph;
  std::shared_ptr<const CudnnDescriptor> configuration;
  CudnnDescriptor plan;
  bool has_added = false;
  bool has_bias = false;
};

CudnnGraph::CudnnGraph(std::shared_ptr<const CudnnHandle> handle,
                       const CudnnConvolution& convolution)
    : handle_(std::move(handle)), convolution_(convolution) {
  GraphBuilder builder(*handle_, convolution_);
  CudnnDescriptor graph = builder.build();
  graph_ = std::make_shared<const Graph>(Graph{handle_, builder.take_parts(), std::move(graph)});
  // Each mode takes longer or knows less than the one before.
  std::string failure = "no engine of cuDNN computes this as exactly as asked for";
  for (const int mode : {kModeA, kModeB, kModeFallback}) {
    if (engines_.size() >= kFewEngines) return;
    try {
      add_engines(mode, kMostEngines);
    } catch (const Error& error) {
      failure = error.what();
    }
  }
  if (engines_.empty()) fail_running("{}", failure);
}

void CudnnGraph::add_engines(int heuristic, std::size_t most) {
  CudnnDescriptor heuristics(*handle_, kHeuristics);
  heuristics.set(kHeuristicGraph, graph_->graph);
  heuristics.set(kHeuristicMode, CudnnType::HeuristicMode, heuristic);
  heuristics.finalize();
  const std::int64_t count =
      heuristics.get_values(kHeuristicResults, CudnnType::Descriptor, 0, nullptr);
  std::vector<CudnnDescriptor> found;
  std::vector<Handle> handles;
  for (std::int64_t i = 0; i < count; ++i) {
    found.emplace_back(*handle_, kConfiguration);
    handles.push_back(found.back().get());
  }
  if (count == 0) return;
  const std::int64_t filled =
      heuristics.get_values(kHeuristicResults, CudnnType::Descriptor, count, handles.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(filled, count)); ++i)
    if (engines_.size() < most) add_engine(std::move(found[i]));
}

void CudnnGraph::add_engine(CudnnDescriptor configuration) {
  const CudnnDescriptor engine(*handle_, kEngine);
  Handle into = engine.get();
  configuration.get_values(kConfiguredEngine, CudnnType::Descriptor, 1, &into);
  const std::vector<int> notes = notes_of(engine);
  if (!is_faithful(convolution_, notes)) return;
  Engine found{.name = fmt::format("cudnn engine {}", engine.get_number(kEngineNumber)),
               .is_fft = has(notes, kFft),
               .is_winograd = has(notes, kWinograd) || winograd_tile(notes) != 0,
               .winograd_tile = winograd_tile(notes)};
  found.key = found.name + knobs_of(*handle_, configuration);
  const auto is_same = [&](const Engine& other) { return other.key == found.key; };
  if (std::ranges::any_of(engines_, is_same)) return;
  engines_.push_back(std::move(found));
  configurations_.push_back(std::make_shared<const CudnnDescriptor>(std::move(configuration)));
}

CudnnPlan CudnnGraph::plan(std::size_t engine) const {
  CudnnDescriptor made(*handle_, kExecutionPlan);
  const Handle library = handle_->get();
  made.set(kPlanHandle, CudnnType::Library, library);
  made.set(kPlanConfiguration, *configurations_[engine]);
  made.finalize();
  CudnnPlan plan;
  plan.workspace_bytes_ = made.get_number(kPlanWorkspace);
  plan.parts_ = std::make_shared<const CudnnPlan::Parts>(
      CudnnPlan::Parts{handle_, graph_, configurations_[engine], std::move(made),
                       convolution_.added.has_value(), convolution_.has_bias});
  return plan;
}

std::function<void(const Stream&)> CudnnPlan::bind(const CudnnOperands& operands) const {
  std::vector<std::int64_t> ids = {kImageId, kWeightId, kResultId};
  std::vector<DevicePointer> pointers = {operands.image, operands.weight, operands.result};
  if (parts_->has_added) {
    ids.push_back(kAddedId);
    pointers.push_back(operands.added);
  }
  if (parts_->has_bias) {
    ids.push_back(kBiasId);
    pointers.push_back(operands.bias);
  }
  const CudnnHandle& handle = *parts_->handle;
  auto pack = std::make_shared<CudnnDescriptor>(handle, kVariantPack);
  pack->set_all(kPackPointers, CudnnType::Pointer, std::span<const DevicePointer>(pointers));
  pack->set_all(kPackIds, CudnnType::Int64, std::span<const std::int64_t>(ids));
  pack->set(kPackWorkspace, CudnnType::Pointer, operands.workspace);
  pack->finalize();
  return [parts = parts_, pack](const Stream& stream) {
    const CudnnHandle& library = *parts->handle;
    library.check(library.functions().set_stream(library.get(), stream.get()), "cudnnSetStream");
    library.check(library.functions().execute(library.get(), parts->plan.get(), pack->get()),
                  "cudnnBackendExecute");
  };
}

}  // namespace assay::gpu
