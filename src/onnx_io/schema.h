// The field numbers of onnx.proto that assay reads or writes, one namespace a message.
#pragma once

namespace assay::onnx {

namespace model_field {
enum : int {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kDomain = 4,
  kModelVersion = 5,
  kDoc = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kTrainingInfo = 20,
  kFunctions = 25,
};
}

namespace opset_field {
enum : int { kDomain = 1, kVersion = 2 };
}

namespace entry_field {
enum : int { kKey = 1, kValue = 2 };
}

namespace graph_field {
enum : int {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kDoc = 10,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kSparseInitializer = 15,
};
}

namespace node_field {
enum : int {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOp = 4,
  kAttribute = 5,
  kDomain = 7,
  kOverload = 8,
  kMetadata = 9,
};
}

namespace function_field {
enum : int {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kAttributeName = 6,
  kNode = 7,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeDefault = 11,
  kOverload = 13,
};
}

namespace attribute_field {
enum : int {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kType = 14,
  kTypes = 15,
  kKind = 20,
  kReference = 21,
  kSparseTensor = 22,
  kSparseTensors = 23,
};
}

// AttributeProto.AttributeType
enum class AttributeKind : int {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  Type = 13,
  Types = 14,
};

namespace tensor_field {
enum : int {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUInt64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};
}

namespace value_info_field {
enum : int { kName = 1, kType = 2 };
}

namespace type_field {
enum : int { kTensor = 1, kSequence = 4, kMap = 5, kOpaque = 7, kSparseTensor = 8, kOptional = 9 };
}

namespace tensor_type_field {
enum : int { kElement = 1, kShape = 2 };
}

// A sequence's or optional's only field; a map's key is 1 and its value 2.
namespace container_type_field {
enum : int { kElement = 1, kMapKey = 1, kMapValue = 2 };
}

// SequenceProto and OptionalProto alike; a sequence may hold several of each.
namespace container_field {
enum : int { kName = 1, kElementType = 2, kTensor = 3, kSequence = 5 };
}

namespace shape_field {
enum : int { kDim = 1 };
}

namespace dim_field {
enum : int { kValue = 1, kSymbol = 2 };
}

}  // namespace assay::onnx
