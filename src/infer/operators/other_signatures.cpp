// Signatures of operators that scripts/update_signatures does not generate.
//
// Those of ONNX are newer than the package that script reads (opsets 18 to 20), withdrawn
// experiments of its first versions, or ONNX Runtime's. Those of com.microsoft follow ONNX
// Runtime's ContribOperators.md.
#include <algorithm>
#include <tuple>

#include "infer/operators/signature.h"

namespace assay::infer {

namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

constexpr Signature kOtherSignatures[] = {
    {"", "Affine", 1, "X:T=real", 1, 1},
    {"", "AffineGrid", 20, "theta:T=real size:integer", 1, 1},
    {"", "BitwiseAnd", 18, "A:T=integer B:T=integer", 1, 1},
    {"", "BitwiseNot", 18, "X:T=integer", 1, 1},
    {"", "BitwiseOr", 18, "A:T=integer B:T=integer", 1, 1},
    {"", "BitwiseXor", 18, "A:T=integer B:T=integer", 1, 1},
    {"", "CenterCropPad", 18, "input_data:T=tensor shape:integer", 1, 1},
    {"", "Col2Im", 18, "input:T=tensor image_shape:integer block_shape:integer", 1, 1},
    {"", "ConvInteger", 10,
     "x:T1=int8|uint8 w:T2=int8|uint8 x_zero_point?:T1=int8|uint8 w_zero_point?:T2=int8|uint8", 1,
     1},
    {"", "DFT", 20, "input:T=real dft_length?:integer axis?:integer", 1, 1},
    {"", "DeformConv", 19, "X:T=real W:T=real offset:T=real B?:T=real mask?:T=real", 1, 1},
    {"", "DequantizeLinear", 10,
     "x:T=int8|uint8|int16|uint16|int32|int4|uint4|float8e4m3fn|float8e4m3fnuz|float8e5m2|"
     "float8e5m2fnuz x_scale:real "
     "x_zero_point?:T=int8|uint8|int16|uint16|int32|int4|uint4|float8e4m3fn|float8e4m3fnuz|"
     "float8e5m2|float8e5m2fnuz",
     1, 1},
    {"", "Equal", 19, "A:T=bool|integer|real|string B:T=bool|integer|real|string", 1, 1},
    {"", "FastGelu", 1, "X:T=real bias?:T=real", 1, 1},
    {"", "Gelu", 20, "X:T=real", 1, 1},
    {"", "GroupNormalization", 18, "X:T=real scale:T=real bias:T=real", 1, 1},
    {"", "ImageDecoder", 20, "encoded_stream:integer", 1, 1},
    {"", "ImageScaler", 1, "X:T=real", 1, 1},
    {"", "MatMulInteger", 10,
     "A:T1=int8|uint8 B:T2=int8|uint8 a_zero_point?:T1=int8|uint8 b_zero_point?:T2=int8|uint8", 1,
     1},
    {"", "Mish", 18, "X:T=real", 1, 1},
    {"", "OptionalGetElement", 18, "input:any", 1, 1},
    {"", "OptionalHasElement", 18, "input?:any", 1, 1},
    {"", "Pad", 18, "data:T=tensor pads:integer constant_value?:T=tensor axes?:integer", 1, 1},
    {"", "ParametricSoftplus", 1, "X:T=real", 1, 1},
    {"", "QLinearConv", 10,
     "x:T1=int8|uint8 x_scale:real x_zero_point:T1=int8|uint8 w:T2=int8|uint8 w_scale:real "
     "w_zero_point:T2=int8|uint8 y_scale:real y_zero_point:int8|uint8 B?:int32",
     1, 1},
    {"", "QLinearMatMul", 10,
     "a:T1=int8|uint8 a_scale:real a_zero_point:T1=int8|uint8 b:T2=int8|uint8 b_scale:real "
     "b_zero_point:T2=int8|uint8 y_scale:real y_zero_point:int8|uint8",
     1, 1},
    {"", "QuantizeLinear", 10,
     "x:real|int32 y_scale:real "
     "y_zero_point?:int8|uint8|int16|uint16|int4|uint4|float8e4m3fn|float8e4m3fnuz|float8e5m2|"
     "float8e5m2fnuz",
     1, 1},
    {"", "QuickGelu", 1, "X:T=real bias?:T=real", 1, 1},
    {"", "ReduceL1", 18, "data:T=integer|real axes?:integer", 1, 1},
    {"", "ReduceL2", 18, "data:T=integer|real axes?:integer", 1, 1},
    {"", "ReduceLogSum", 18, "data:T=integer|real axes?:integer", 1, 1},
    {"", "ReduceLogSumExp", 18, "data:T=integer|real axes?:integer", 1, 1},
    {"", "ReduceMax", 18, "data:T=bool|integer|real axes?:integer", 1, 1},
    {"", "ReduceMean", 18, "data:T=integer|real axes?:integer", 1, 1},
    {"", "ReduceMin", 18, "data:T=bool|integer|real axes?:integer", 1, 1},
    {"", "ReduceProd", 18, "data:T=integer|real axes?:integer", 1, 1},
    {"", "ReduceSumSquare", 18, "data:T=integer|real axes?:integer", 1, 1},
    {"", "RegexFullMatch", 20, "X:string", 1, 1},
    {"", "ScaledTanh", 1, "X:T=real", 1, 1},
    {"", "SimplifiedLayerNormalization", 1, "X:real scale:real", 1, 2},
    {"", "StringConcat", 20, "X:string Y:string", 1, 1},
    {"", "StringSplit", 20, "X:string", 2, 2},
    {kOwnDomain, "Adam", 1, "rate:float32 step:int64 inputs+:real", 1, kUnlimited},
    {kOwnDomain, "AveragePoolGradient", 1, "gradient:T=real", 1, 1},
    {kOwnDomain, "BatchNormalizationGradient", 1, "X:real scale:real gradient:real", 1, 3},
    {kOwnDomain, "CachedAttention", 1,
     "query:T=real key:T=real value:T=real key_cache:T=real value_cache:T=real position:int64", 3,
     3},
    {kOwnDomain, "ConvInputGradient", 1, "gradient:T=real W:T=real", 1, 1},
    {kOwnDomain, "ConvWeightGradient", 1, "X:T=real gradient:T=real", 1, 2},
    {kOwnDomain, "Dropout", 1, "data:real step:int64", 1, 2},
    {kOwnDomain, "GatherGradient", 1, "indices:integer gradient:real", 1, 1},
    {kOwnDomain, "GeluGradient", 1, "X:T=real gradient:T=real", 1, 1},
    {kOwnDomain, "GruGradient", 1,
     "X:T=real W:T=real R:T=real B?:T=real sequence_lens?:integer initial_h?:T=real "
     "Y_gradient?:T=real Y_h_gradient?:T=real",
     0, 5},
    {kOwnDomain, "LayerNormalizationGradient", 1, "X:real scale:real gradient:real", 1, 3},
    {kOwnDomain, "LikelihoodGradient", 1,
     "scores:T=real target:integer weight?:T=real gradient:T=real", 1, 1},
    {kOwnDomain, "LstmGradient", 1,
     "X:T=real W:T=real R:T=real B?:T=real sequence_lens?:integer initial_h?:T=real "
     "initial_c?:T=real P?:T=real Y_gradient?:T=real Y_h_gradient?:T=real Y_c_gradient?:T=real",
     0, 7},
    {kOwnDomain, "MaxPoolGradient", 1, "X:T=real gradient:T=real", 1, 1},
    {kOwnDomain, "Momentum", 1, "rate:float32 step:int64 inputs+:real", 1, kUnlimited},
    {kOwnDomain, "ReluGradient", 1, "Y:T=real gradient:T=real", 1, 1},
    {kOwnDomain, "ResizeGradient", 1, "gradient:real roi?:real scales?:real sizes?:integer", 1, 1},
    {kOwnDomain, "RnnGradient", 1,
     "X:T=real W:T=real R:T=real B?:T=real sequence_lens?:integer initial_h?:T=real "
     "Y_gradient?:T=real Y_h_gradient?:T=real",
     0, 5},
    {kOwnDomain, "Sgd", 1, "rate:float32 step:int64 inputs+:real", 1, kUnlimited},
    {kOwnDomain, "SliceGradient", 1, "gradient:T=real", 1, 1},
    {kOwnDomain, "SoftmaxCrossEntropyGradient", 1,
     "scores:T=real target:integer weight?:T=real gradient:T=real", 1, 1},
    {kOwnDomain, "SoftmaxGradient", 1, "Y:T=real gradient:T=real", 1, 1},
    {kMicrosoft, "Attention", 1,
     "input:T=real weights:T=real bias?:T=real mask_index?:integer past?:T=real "
     "attention_bias?:T=real past_sequence_length?:integer",
     1, 2},
    {kMicrosoft, "BiasGelu", 1, "A:T=real B:T=real", 1, 1},
    {kMicrosoft, "BiasSoftmax", 1, "data:T=real bias:T=real", 1, 1},
    {kMicrosoft, "DequantizeLinear", 1,
     "x:T=int8|uint8|int16|uint16|int32|int4|uint4 x_scale:real "
     "x_zero_point?:T=int8|uint8|int16|uint16|int32|int4|uint4",
     1, 1},
    {kMicrosoft, "DynamicQuantizeLSTM", 1,
     "X:T=real W:T2=int8|uint8 R:T2=int8|uint8 B?:T=real sequence_lens?:integer initial_h?:T=real "
     "initial_c?:T=real P?:T=real W_scale:T=real W_zero_point:T2=int8|uint8 R_scale:T=real "
     "R_zero_point:T2=int8|uint8",
     0, 3},
    {kMicrosoft, "DynamicQuantizeLinear", 1, "x:real", 3, 3},
    {kMicrosoft, "DynamicQuantizeMatMul", 1,
     "A:T1=real B:T2=int8|uint8 b_scale:T1=real b_zero_point?:T2=int8|uint8 bias?:T1=real", 1, 1},
    {kMicrosoft, "EmbedLayerNormalization", 1,
     "input_ids:T1=integer segment_ids?:T1=integer word_embedding:T=real "
     "position_embedding:T=real segment_embedding?:T=real gamma:T=real beta:T=real "
     "mask?:T1=integer position_ids?:T1=integer",
     1, 3},
    {kMicrosoft, "FastGelu", 1, "X:T=real bias?:T=real", 1, 1},
    {kMicrosoft, "FusedConv", 1, "X:T=real W:T=real B?:T=real Z?:T=real", 1, 1},
    {kMicrosoft, "FusedGemm", 1, "A:T=real B:T=real C?:T=real", 1, 1},
    {kMicrosoft, "FusedMatMul", 1, "A:T=real B:T=real", 1, 1},
    {kMicrosoft, "Gelu", 1, "X:T=real", 1, 1},
    {kMicrosoft, "GroupNorm", 1, "X:real gamma:real beta:real", 1, 1},
    {kMicrosoft, "GroupQueryAttention", 1,
     "query:real key?:real value?:real past_key?:tensor past_value?:tensor seqlens_k:integer "
     "total_sequence_length:integer cos_cache?:real sin_cache?:real position_ids?:integer "
     "attention_bias?:real head_sink?:real",
     1, 4},
    {kMicrosoft, "LayerNormalization", 1, "X:T=real scale:real B?:real", 1, 3},
    {kMicrosoft, "MatMulIntegerToFloat", 1,
     "A:T1=int8|uint8 B:T2=int8|uint8 a_scale:T3=real b_scale:T3=real a_zero_point?:T1=int8|uint8 "
     "b_zero_point?:T2=int8|uint8 bias?:T3=real",
     1, 1},
    {kMicrosoft, "MatMulNBits", 1,
     "A:T1=real B:uint8 scales:T1=real zero_points?:uint8|real g_idx?:integer "
     "bias?:T1=real",
     1, 1},
    {kMicrosoft, "MultiHeadAttention", 1,
     "query:T=real key?:T=real value?:T=real bias?:T=real key_padding_mask?:integer "
     "attention_bias?:T=real past_key?:T=real past_value?:T=real past_sequence_length?:integer "
     "cache_indirection?:integer",
     1, 4},
    {kMicrosoft, "QAttention", 1,
     "input:T1=int8|uint8 weight:T2=int8|uint8 bias:T3=real input_scale:T3=real "
     "weight_scale:T3=real "
     "mask_index?:integer input_zero_point?:T1=int8|uint8 weight_zero_point?:T2=int8|uint8 "
     "past?:T3=real",
     1, 2},
    {kMicrosoft, "QGemm", 1,
     "A:TA=int8|uint8 a_scale:real a_zero_point:TA=int8|uint8 B:TB=int8|uint8 b_scale:real "
     "b_zero_point:TB=int8|uint8 C?:int32 y_scale?:real y_zero_point?:int8|uint8",
     1, 1},
    {kMicrosoft, "QLinearAdd", 1,
     "A:T=int8|uint8 A_scale:real A_zero_point?:T=int8|uint8 B:T=int8|uint8 B_scale:real "
     "B_zero_point?:T=int8|uint8 C_scale:real C_zero_point?:T=int8|uint8",
     1, 1},
    {kMicrosoft, "QLinearAveragePool", 1,
     "X:T=int8|uint8 x_scale:real x_zero_point?:T=int8|uint8 y_scale:real "
     "y_zero_point?:T=int8|uint8",
     1, 1},
    {kMicrosoft, "QLinearConcat", 1, "Y_scale:real Y_zero_point:int8|uint8 inputs+:int8|uint8|real",
     1, 1},
    {kMicrosoft, "QLinearGlobalAveragePool", 1,
     "X:T=int8|uint8 x_scale:real x_zero_point:T=int8|uint8 y_scale:real y_zero_point:T=int8|uint8",
     1, 1},
    {kMicrosoft, "QLinearLeakyRelu", 1,
     "X:T=int8|uint8 X_scale:real X_zero_point?:T=int8|uint8 Y_scale:real "
     "Y_zero_point?:T=int8|uint8",
     1, 1},
    {kMicrosoft, "QLinearMul", 1,
     "A:T=int8|uint8 A_scale:real A_zero_point?:T=int8|uint8 B:T=int8|uint8 B_scale:real "
     "B_zero_point?:T=int8|uint8 C_scale:real C_zero_point?:T=int8|uint8",
     1, 1},
    {kMicrosoft, "QLinearSigmoid", 1,
     "X:T=int8|uint8 X_scale:real X_zero_point?:T=int8|uint8 Y_scale:real "
     "Y_zero_point?:T=int8|uint8",
     1, 1},
    {kMicrosoft, "QLinearSoftmax", 1,
     "X:T=int8|uint8 X_scale:real x_zero_point?:T=int8|uint8 y_scale:real "
     "y_zero_point:T=int8|uint8",
     1, 1},
    {kMicrosoft, "QuantizeLinear", 1,
     "x:real y_scale:real y_zero_point?:int8|uint8|int16|uint16|int4|uint4", 1, 1},
    {kMicrosoft, "QuickGelu", 1, "X:T=real", 1, 1},
    {kMicrosoft, "RotaryEmbedding", 1,
     "input:T=real position_ids:integer cos_cache:T=real sin_cache:T=real", 1, 1},
    {kMicrosoft, "SimplifiedLayerNormalization", 1, "X:T=real scale:real", 1, 2},
    {kMicrosoft, "SkipLayerNormalization", 1,
     "input:T=real skip:T=real gamma:T=real beta?:T=real bias?:T=real", 1, 4},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", 1,
     "input:T=real skip:T=real gamma:T=real bias?:T=real", 1, 4},
    {kMicrosoft, "TransposeMatMul", 1, "A:T=real B:T=real", 1, 1},
};

constexpr bool is_sorted(std::span<const Signature> table) {
  return std::ranges::is_sorted(
      table, {}, [](const Signature& row) { return std::tuple(row.domain, row.op, row.since); });
}
static_assert(is_sorted(kOtherSignatures));

}  // namespace

std::span<const Signature> other_signatures() {
  return kOtherSignatures;
}

}  // namespace assay::infer
