// The common operators of ai.onnx.ml: scalers, encoders, linear models, trees.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

void as_float(InferContext& context) {
  context.set(0, DataType::Float32, context.type(0).shape);
}

// Rows of the input, one axis; a vector is one row.
Dim rows_of(const InferContext& context) {
  const Shape* input = context.shape(0);
  if (input == nullptr) return Dim();
  return input->rank() < 2 ? Dim(1) : (*input)[0];
}

// Labels are an attribute under any of these names, of strings or of integers.
struct Labels {
  DataType element = DataType::Int64;
  Dim count;
};

Labels labels_of(const InferContext& context, const char* strings, const char* integers) {
  if (const auto* names = context.node().get<std::vector<std::string>>(strings);
      names != nullptr && !names->empty()) {
    return {DataType::String, Dim(static_cast<std::int64_t>(names->size()))};
  }
  if (const auto* numbers = context.node().get<Dims>(integers))
    return {DataType::Int64, Dim(static_cast<std::int64_t>(numbers->size()))};
  return {};
}

void set_classes(InferContext& context, const Labels& labels) {
  const Dim rows = rows_of(context);
  context.set(0, labels.element, Shape{rows});
  context.set(1, DataType::Float32, Shape{rows, labels.count});
}

void linear_classifier(InferContext& context) {
  set_classes(context, labels_of(context, "classlabels_strings", "classlabels_ints"));
}

void tree_classifier(InferContext& context) {
  set_classes(context, labels_of(context, "classlabels_strings", "classlabels_int64s"));
}

template <char First>
void regressor(InferContext& context) {
  const std::int64_t targets = context.node().int_or(First == 't' ? "targets" : "n_targets", 1);
  if (targets < 1) context.fail("{} targets", targets);
  context.set(0, DataType::Float32, Shape{rows_of(context), Dim(targets)});
}

void label_encoder(InferContext& context) {
  DataType element = context.element(0) == DataType::String ? DataType::Int64 : DataType::String;
  if (context.node().find("values_int64s") != nullptr) element = DataType::Int64;
  if (context.node().find("values_strings") != nullptr) element = DataType::String;
  if (context.node().find("values_floats") != nullptr) element = DataType::Float32;
  if (const auto* values = context.node().get<Tensor>("values_tensor")) element = values->type();
  context.set(0, element, context.type(0).shape);
}

void one_hot_encoder(InferContext& context) {
  const Labels categories = labels_of(context, "cats_strings", "cats_int64s");
  const Shape* input = context.shape(0);
  if (input == nullptr) return context.set(0, DataType::Float32);
  Shape result = *input;
  result.push_back(categories.count);
  context.set(0, DataType::Float32, result);
}

void feature_vectorizer(InferContext& context) {
  Dim width(0);
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Shape* part = context.shape_of_rank_at_least(i, 1);
    width = part != nullptr ? sum_of(context, width, (*part)[part->rank() - 1]) : Dim();
  }
  context.set(0, DataType::Float32, Shape{rows_of(context), width});
}

void feature_extractor(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 1);
  const Shape* picks = context.shape(1);
  if (input == nullptr || picks == nullptr) return context.set(0, context.element(0));
  std::vector<Dim> dims = dims_of(*input);
  if (dims.size() == 1) dims.insert(dims.begin(), Dim(1));
  dims.back() = product(context, dims_of(*picks));
  context.set(0, context.element(0), Shape(dims));
}

}  // namespace

void add_ml_rules(RuleTable& table) {
  table["Scaler"] = as_float;
  table["Normalizer"] = as_float;
  for (const char* op : {"Binarizer", "Imputer"}) table[op] = same_as_input;
  table["LinearClassifier"] = linear_classifier;
  table["SVMClassifier"] = linear_classifier;
  table["TreeEnsembleClassifier"] = tree_classifier;
  table["LinearRegressor"] = regressor<'t'>;
  table["SVMRegressor"] = regressor<'n'>;
  table["TreeEnsembleRegressor"] = regressor<'n'>;
  table["LabelEncoder"] = label_encoder;
  table["OneHotEncoder"] = one_hot_encoder;
  table["FeatureVectorizer"] = feature_vectorizer;
  table["ArrayFeatureExtractor"] = feature_extractor;
}

}  // namespace assay::infer
