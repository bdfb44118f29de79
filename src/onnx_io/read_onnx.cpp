#include <cstring>
#include <string>
#include <vector>

#include "assay/onnx.h"
#include "assay/verify.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "onnx_io/external_data.h"
#include "onnx_io/file_kind.h"
#include "onnx_io/functions.h"
#include "onnx_io/graph_reader.h"
#include "onnx_io/schema.h"
#include "onnx_io/wire.h"

namespace assay {

namespace {

using namespace onnx;

struct ModelFields {
  ModelInfo info = {};
  std::optional<std::string_view> graph = std::nullopt;
  std::map<std::string, std::int64_t> opsets = {};
  FunctionTable functions = {};
};

std::pair<std::string, std::string> read_entry(std::string_view message, const Source& source) {
  std::pair<std::string, std::string> entry;
  for (FieldReader field(message, source, "a metadata entry"); field.next();) {
    if (field.number() == entry_field::kKey) entry.first = field.text();
    if (field.number() == entry_field::kValue) entry.second = field.text();
  }
  return entry;
}

void note_field(const FieldReader& field, const Source& source, ModelFields& model) {
  switch (field.number()) {
    case model_field::kIrVersion:
      model.info.ir_version = field.integer();
      return;
    case model_field::kProducerName:
      model.info.producer_name = field.text();
      return;
    case model_field::kProducerVersion:
      model.info.producer_version = field.text();
      return;
    case model_field::kDomain:
      model.info.domain = field.text();
      return;
    case model_field::kModelVersion:
      model.info.model_version = field.integer();
      return;
    case model_field::kDoc:
      model.info.doc = field.text();
      return;
    case model_field::kGraph:
      if (model.graph) fail_bad_input("it has two graphs");
      model.graph = field.bytes();
      return;
    case model_field::kOpsetImport:
      return read_opset(field.bytes(), source, model.opsets);
    case model_field::kMetadata:
      model.info.metadata.push_back(read_entry(field.bytes(), source));
      return;
    case model_field::kTrainingInfo:
      fail_bad_input("it holds training information (training_info), which is not supported");
    case model_field::kFunctions:
      return model.functions.add(field.bytes(), source);
    default:
      return;
  }
}

bool is_part_of_models_only(int field) {
  return field == model_field::kGraph || field == model_field::kOpsetImport ||
         field == model_field::kTrainingInfo || field == model_field::kFunctions;
}

// Before a graph was found, bytes that cannot be parsed are most likely no model.
ModelFields read_fields(const Source& source) {
  ModelFields model;
  model.info.ir_version = 0;
  FieldReader field(source.bytes, source, "the model");
  try {
    while (field.next()) note_field(field, source, model);
  } catch (const Error& error) {
    if (model.graph || is_part_of_models_only(field.number())) throw;
    fail_bad_input("not an ONNX model, or a damaged one: {}", error.what());
  }
  return model;
}

void check_fields(const ModelFields& model) {
  if (!model.graph) fail_bad_input("not an ONNX model, or a damaged one: it has no graph");
  if (model.opsets.empty()) {
    fail_bad_input("it imports no operator set, so its operators are not defined; re-export it");
  }
  const auto standard = model.opsets.find("");
  if (standard != model.opsets.end()) check_standard_opset(standard->second);
}

Graph read_model(const Source& source, ExternalFiles& external) {
  if (const auto other = what_it_is_instead(source.bytes)) fail_bad_input("{}", *other);
  ModelFields model = read_fields(source);
  check_fields(model);
  GraphReader reader(source, external, model.functions, model.opsets);
  Graph graph = reader.read(*model.graph);
  graph.info = std::move(model.info);
  verify(graph);
  external.check_intact();
  return graph;
}

Graph read_named(const Source& source, ExternalFiles& external, const std::string& name) {
  try {
    return read_model(source, external);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", name, error.what()));
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Graph read_onnx(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const Source source{as_text(file->bytes()), mapped_storage(file)};
  auto folder = path.parent_path();
  ExternalFiles external(folder.empty() ? "." : folder);
  try {
    Graph graph = read_named(source, external, path.string());
    file->check_intact();
    return graph;
  } catch (const Error&) {
    file->check_intact();  // Its error says more than one about the zeros read instead.
    throw;
  }
}

Graph read_onnx(std::span<const std::byte> bytes, const std::string& described_as) {
  const auto storage = heap_storage(std::vector<std::byte>(bytes.begin(), bytes.end()));
  const Source source{as_text(storage->bytes()), storage};
  ExternalFiles external;
  return read_named(source, external, described_as);
}

}  // namespace assay
