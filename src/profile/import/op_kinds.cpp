#include "profile/import/op_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace assay::profile {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Names in lower case without anything but letters and digits.
constexpr std::array kSameKind = {
    // convolutions
    Pair{"fusedconv", "conv"},
    Pair{"nhwcfusedconv", "conv"},
    Pair{"qlinearconv", "conv"},
    Pair{"convinteger", "conv"},
    Pair{"convolution", "conv"},
    Pair{"groupconvolution", "conv"},
    Pair{"conv1d", "conv"},
    Pair{"conv2d", "conv"},
    Pair{"conv3d", "conv"},
    Pair{"depthwiseconv2d", "conv"},
    Pair{"mkldnnconvolution", "conv"},
    Pair{"cudnnconvolution", "conv"},
    Pair{"nhwcconv", "conv"},
    Pair{"qlinearconvolution", "conv"},
    Pair{"convolutionbackpropdata", "convtranspose"},
    Pair{"groupconvolutionbackpropdata", "convtranspose"},
    Pair{"deconvolution", "convtranspose"},
    Pair{"transposeconv", "convtranspose"},
    Pair{"convtranspose1d", "convtranspose"},
    Pair{"convtranspose2d", "convtranspose"},
    Pair{"convtranspose3d", "convtranspose"},
    Pair{"qlinearconvtranspose", "convtranspose"},
    // products
    Pair{"gemm", "matmul"},
    Pair{"fusedgemm", "matmul"},
    Pair{"fusedmatmul", "matmul"},
    Pair{"qlinearmatmul", "matmul"},
    Pair{"matmulinteger", "matmul"},
    Pair{"qgemm", "matmul"},
    Pair{"matmulintegertofloat", "matmul"},
    Pair{"dynamicquantizematmul", "matmul"},
    Pair{"matmulnbits", "matmul"},
    Pair{"fullyconnected", "matmul"},
    Pair{"batchmatmul", "matmul"},
    Pair{"linear", "matmul"},
    Pair{"addmm", "matmul"},
    Pair{"mm", "matmul"},
    Pair{"bmm", "matmul"},
    Pair{"baddbmm", "matmul"},
    Pair{"addmmactivation", "matmul"},
    Pair{"batchmatrixmultiply", "matmul"},
    Pair{"dynamicfullyconnected", "matmul"},
    Pair{"transposematmul", "matmul"},
    Pair{"einsum", "matmul"},
    // pooling
    Pair{"maxpool1d", "maxpool"},
    Pair{"maxpool2d", "maxpool"},
    Pair{"maxpool3d", "maxpool"},
    Pair{"maxpooling", "maxpool"},
    Pair{"averagepool2d", "averagepool"},
    Pair{"averagepooling", "averagepool"},
    Pair{"globalaveragepooling", "averagepool"},
    Pair{"avgpool", "averagepool"},
    Pair{"avgpool1d", "averagepool"},
    Pair{"avgpool2d", "averagepool"},
    Pair{"avgpool3d", "averagepool"},
    Pair{"globalaveragepool", "averagepool"},
    Pair{"adaptiveavgpool1d", "averagepool"},
    Pair{"adaptiveavgpool2d", "averagepool"},
    Pair{"pooling", "maxpool"},
    // reductions and norms
    Pair{"mean", "reducemean"},
    Pair{"sum", "reducesum"},
    Pair{"amax", "reducemax"},
    Pair{"batchnorm", "batchnormalization"},
    Pair{"layernorm", "layernormalization"},
    Pair{"groupnorm", "groupnormalization"},
    Pair{"instancenorm", "instancenormalization"},
    Pair{"nativelayernorm", "layernormalization"},
    Pair{"mvn", "layernormalization"},
    Pair{"simplifiedlayernormalization", "layernormalization"},
    Pair{"skiplayernormalization", "layernormalization"},
    Pair{"logsoftmax", "softmax"},
    // element by element
    Pair{"subtract", "sub"},
    Pair{"multiply", "mul"},
    Pair{"divide", "div"},
    Pair{"rsub", "sub"},
    Pair{"transformbiasrescaleqkv", "add"},
    Pair{"logistic", "sigmoid"},
    Pair{"quicksigmoid", "sigmoid"},
    Pair{"hardtanh", "clip"},
    Pair{"clamp", "clip"},
    Pair{"relu6", "clip"},
    Pair{"hswish", "hardswish"},
    Pair{"silu", "swish"},
    Pair{"fastgelu", "gelu"},
    Pair{"biasgelu", "gelu"},
    Pair{"quickgelu", "gelu"},
    Pair{"swishmul", "swish"},
    Pair{"power", "pow"},
    Pair{"squareroot", "sqrt"},
    Pair{"negate", "neg"},
    Pair{"maximum", "max"},
    Pair{"minimum", "min"},
    // movement
    Pair{"concatenation", "concat"},
    Pair{"concatv2", "concat"},
    Pair{"cat", "concat"},
    Pair{"permute", "transpose"},
    Pair{"view", "reshape"},
    Pair{"resizebilinear", "resize"},
    Pair{"resizenearestneighbor", "resize"},
    Pair{"interpolate", "resize"},
    Pair{"upsample", "resize"},
    Pair{"upsamplenearest2d", "resize"},
    Pair{"upsamplebilinear2d", "resize"},
    Pair{"stridedslice", "slice"},
    Pair{"embedding", "gather"},
    Pair{"gathernd", "gathernd"},
    Pair{"index", "gather"},
    Pair{"indexselect", "gather"},
    Pair{"padv2", "pad"},
    Pair{"constantpad", "pad"},
    Pair{"constantpadnd", "pad"},
    Pair{"to", "cast"},
    Pair{"convert", "cast"},
    Pair{"fakequantize", "quantizelinear"},
    Pair{"quantize", "quantizelinear"},
    Pair{"dequantize", "dequantizelinear"},
    // recurrent
    Pair{"lstmsequence", "lstm"},
    Pair{"grusequence", "gru"},
    Pair{"rnnsequence", "rnn"},
    Pair{"unidirectionalsequencelstm", "lstm"},
    Pair{"dynamicquantizelstm", "lstm"},
    // attention
    Pair{"multiheadattention", "attention"},
    Pair{"groupqueryattention", "attention"},
    Pair{"scaleddotproductattention", "attention"},
    Pair{"qattention", "attention"},
};

// Kernels that replace several nodes: the kind of one of these is enough.
constexpr std::array kFusedFrom = {
    Pair{"gelu", "erf"},
    Pair{"gelu", "tanh"},
    Pair{"gelu", "mul"},
    Pair{"hardswish", "mul"},
    Pair{"hardswish", "hardsigmoid"},
    Pair{"swish", "sigmoid"},
    Pair{"swish", "mul"},
    Pair{"layernormalization", "reducemean"},
    Pair{"layernormalization", "pow"},
    Pair{"attention", "softmax"},
    Pair{"attention", "matmul"},
    Pair{"reducemean", "averagepool"},
    Pair{"averagepool", "reducemean"},
    Pair{"matmul", "add"},
    Pair{"relu", "clip"},
    Pair{"embedlayernormalization", "gather"},
    Pair{"batchnormalization", "conv"},
    Pair{"softmax", "exp"},
    Pair{"subgraph", "add"},
    Pair{"subgraph", "mul"},
    Pair{"subgraph", "sub"},
    Pair{"subgraph", "div"},
    Pair{"subgraph", "clip"},
    Pair{"powerstatic", "mul"},
    Pair{"powerstatic", "add"},
    Pair{"powerstatic", "pow"},
};

constexpr std::array<std::string_view, 11> kMovements = {
    "reshape", "transpose",  "cast", "squeeze", "unsqueeze", "identity",
    "flatten", "contiguous", "copy", "clone",   "reorder"};
constexpr std::array<std::string_view, 3> kOftenFolded = {"batchnormalization", "dropout",
                                                          "featuredropout"};

std::string letters_of(std::string_view op) {
  std::string letters;
  for (const char c : op) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

}  // namespace

std::string op_kind(std::string_view op) {
  std::string letters = letters_of(op.substr(op.rfind('.') + 1));  // "com.microsoft.Gelu"
  const auto found = std::ranges::find(kSameKind, letters, &Pair::first);
  return found == kSameKind.end() ? letters : std::string(found->second);
}

bool may_stand_for(std::string_view kernel, std::string_view node) {
  if (kernel.empty()) return false;
  return kernel == node || std::ranges::find(kFusedFrom, Pair{kernel, node}) != kFusedFrom.end();
}

bool only_moves(std::string_view kind) {
  return std::ranges::find(kMovements, kind) != kMovements.end();
}

bool is_often_folded(std::string_view kind) {
  return std::ranges::find(kOftenFolded, kind) != kOftenFolded.end();
}

}  // namespace assay::profile
