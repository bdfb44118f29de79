// Ops that do no arithmetic: they view, pick, copy or generate.
#include "cost/table.h"

namespace assay::cost {

namespace {

constexpr std::string_view kViews[] = {"Reshape",   "Flatten",  "Squeeze",
                                       "Unsqueeze", "Identity", "Dropout"};

constexpr std::string_view kPicks[] = {"Gather", "GatherElements", "GatherND", "Slice", "Compress"};

constexpr std::string_view kGenerators[] = {
    "Shape", "Size", "Constant", "ConstantOfShape", "Range", "EyeLike", "OptionalHasElement"};

constexpr std::string_view kCopies[] = {"Cast",
                                        "CastLike",
                                        "Transpose",
                                        "Concat",
                                        "Split",
                                        "Pad",
                                        "Expand",
                                        "Tile",
                                        "DepthToSpace",
                                        "SpaceToDepth",
                                        "ReverseSequence",
                                        "ScatterElements",
                                        "Scatter",
                                        "ScatterND",
                                        "Trilu",
                                        "OneHot",
                                        "Col2Im",
                                        "CenterCropPad",
                                        "ai.onnx.ml:FeatureVectorizer",
                                        "ai.onnx.ml:LabelEncoder",
                                        "com.microsoft:QLinearConcat",
                                        "ConcatFromSequence",
                                        "SequenceConstruct",
                                        "SequenceAt",
                                        "SplitToSequence",
                                        "SequenceEmpty",
                                        "SequenceInsert",
                                        "SequenceErase",
                                        "SequenceLength",
                                        "Optional",
                                        "OptionalGetElement"};

}  // namespace

void add_movement_costs(CostTable& table) {
  for (const auto op : kViews) table[op] = {nullptr, Traffic::View};
  for (const auto op : kPicks) table[op] = {nullptr, Traffic::Picks};
  for (const auto op : kGenerators) table[op] = {nullptr, Traffic::Generates};
  for (const auto op : kCopies) table[op] = {nullptr, Traffic::Streams};
}

}  // namespace assay::cost
