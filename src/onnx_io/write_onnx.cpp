#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include "assay/onnx.h"
#include "assay/verify.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "onnx_io/encode.h"
#include "onnx_io/schema.h"

namespace assay {

namespace {

using namespace onnx;

constexpr std::uint64_t kLargestMessage = (std::uint64_t{1} << 31) - 1;
constexpr std::int64_t kSmallestIrVersion = 4;  // before it, initializers had to be inputs as well

// The IR version that came with each operator set; later sets need the last.
std::int64_t ir_version_of_opset(std::int64_t opset) {
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 11> kSince = {
      {{28, 14},
       {25, 13},
       {24, 12},
       {23, 11},
       {21, 10},
       {19, 9},
       {15, 8},
       {12, 7},
       {11, 6},
       {10, 5},
       {0, kSmallestIrVersion}}};
  for (const auto& [since, version] : kSince) {
    if (opset >= since) return version;
  }
  return kSmallestIrVersion;
}

Rope encode_opset(const std::string& domain, std::int64_t version) {
  Rope message;
  message.add_bytes(opset_field::kDomain, domain);
  message.add_integer(opset_field::kVersion, version);
  return message;
}

Rope encode_metadata(const std::pair<std::string, std::string>& entry) {
  Rope message;
  message.add_bytes(entry_field::kKey, entry.first);
  message.add_bytes(entry_field::kValue, entry.second);
  return message;
}

void add_text(int field, const std::string& text, Rope& message) {
  if (!text.empty()) message.add_bytes(field, text);
}

Rope encode_model(const Graph& graph, ExternalPlan* external) {
  const ModelInfo& info = graph.info;
  Rope model;
  model.add_integer(model_field::kIrVersion,
                    std::max(info.ir_version, ir_version_of_opset(graph.opset())));
  add_text(model_field::kProducerName, info.producer_name, model);
  add_text(model_field::kProducerVersion, info.producer_version, model);
  add_text(model_field::kDomain, info.domain, model);
  if (info.model_version != 0) model.add_integer(model_field::kModelVersion, info.model_version);
  add_text(model_field::kDoc, info.doc, model);
  for (const auto& [domain, version] : graph.opsets) {
    model.add_message(model_field::kOpsetImport, encode_opset(domain, version));
  }
  for (const auto& entry : info.metadata) {
    model.add_message(model_field::kMetadata, encode_metadata(entry));
  }
  model.add_message(model_field::kGraph, encode_graph(graph, external));
  return model;
}

// Writes in pieces small enough for a cancellation to take effect quickly.
class Output {
 public:
  Output(std::filesystem::path path, std::uint64_t total, Progress* progress)
      : path_(std::move(path)), total_(total), progress_(progress) {}

  void write(std::span<const std::byte> bytes, AtomicFile& file) {
    constexpr std::size_t kPiece = std::size_t{4} << 20;
    while (!bytes.empty()) {
      stop_if_cancelled();
      const auto piece = bytes.first(std::min(kPiece, bytes.size()));
      file.write(piece);
      bytes = bytes.subspan(piece.size());
      done_ += piece.size();
      if (progress_ == nullptr) continue;
      progress_->report(static_cast<double>(done_) / static_cast<double>(total_), "writing");
    }
  }

  void stop_if_cancelled() const {
    if (progress_ == nullptr || !progress_->cancelled()) return;
    throw Error(ErrorKind::Cancelled,
                fmt::format("{}: not written, as asked to stop", path_.string()));
  }

 private:
  std::filesystem::path path_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  Progress* progress_ = nullptr;
};

void write_weights(const ExternalPlan& plan, Output& output, AtomicFile& file) {
  static constexpr std::array<std::byte, 4096> kZeros = {};
  for (const auto& [tensor, offset] : plan.placed()) {
    output.write(std::span(kZeros).first(offset - file.bytes_written()), file);
    output.write(tensor.bytes(), file);
  }
}

void write_alone(const Rope& model, const std::filesystem::path& path, Progress* progress) {
  Output output(path, model.size(), progress);
  AtomicFile file(path);
  model.each_piece([&](std::span<const std::byte> piece) { output.write(piece, file); });
  output.stop_if_cancelled();
  file.commit();
}

// Both files are complete before either appears. The weights come first: a model must never appear
// without them.
void write_with_weights(const Rope& model, const ExternalPlan& plan,
                        const std::filesystem::path& path, Progress* progress) {
  const auto weights_path = std::filesystem::path(path).replace_filename(plan.location());
  const bool replaces = std::filesystem::exists(weights_path);
  Output output(path, model.size() + plan.size(), progress);
  AtomicFile weights(weights_path);
  write_weights(plan, output, weights);
  AtomicFile file(path);
  model.each_piece([&](std::span<const std::byte> piece) { output.write(piece, file); });
  output.stop_if_cancelled();
  weights.commit();
  try {
    file.commit();
  } catch (const Error&) {
    std::error_code ignored;
    if (!replaces) std::filesystem::remove(weights_path, ignored);
    throw;
  }
}

}  // namespace

void write_onnx(const Graph& graph, const std::filesystem::path& path, const WriteOptions& options,
                Progress* progress) {
  verify(graph);
  const std::uint64_t largest = std::min(options.largest_file, kLargestMessage);
  const Rope whole = encode_model(graph, nullptr);
  if (whole.size() <= largest) return write_alone(whole, path, progress);
  ExternalPlan plan(path.filename().string() + ".data");
  const Rope model = encode_model(graph, &plan);
  if (model.size() > kLargestMessage) {
    fail_bad_input("{}: the model takes {} bytes without its weights, ONNX files end at 2 GiB",
                   path.string(), model.size());
  }
  if (plan.placed().empty()) return write_alone(model, path, progress);
  write_with_weights(model, plan, path, progress);
}

}  // namespace assay
