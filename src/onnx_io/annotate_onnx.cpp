// A copy of a model file with more metadata. Everything else is copied byte by byte, so that fields
// which assay does not know survive.
#include <deque>
#include <protozero/varint.hpp>

#include "assay/onnx.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "onnx_io/external_data.h"
#include "onnx_io/rope.h"
#include "onnx_io/schema.h"
#include "onnx_io/wire.h"

namespace assay {

namespace {

using namespace onnx;

constexpr std::string_view kOwnKeys = "assay.";
constexpr std::uint64_t kLargestModel = (std::uint64_t{1} << 31) - 1;

// Parts of the file in place, and new ones between them; whoever owns those outlives this.
class Pieces {
 public:
  void add(std::string_view bytes) {
    size_ += bytes.size();
    list_.push_back(bytes);
  }
  void add(const Pieces& other) {
    for (const std::string_view bytes : other.list_) add(bytes);
  }
  std::uint64_t size() const { return size_; }
  void write(AtomicFile& file) const {
    for (const std::string_view bytes : list_) file.write(bytes);
  }

 private:
  std::vector<std::string_view> list_ = {};
  std::uint64_t size_ = 0;
};

std::string bytes_of(const Rope& rope) {
  std::string text;
  rope.each_piece([&](std::span<const std::byte> piece) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return text;
}

std::string header_of(int field, std::uint64_t length) {
  std::string text;
  const auto tag =
      static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(WireType::Bytes);
  protozero::write_varint(std::back_inserter(text), tag);
  protozero::write_varint(std::back_inserter(text), length);
  return text;
}

std::string entries_text(int field, const std::vector<MetadataEntry>& entries) {
  Rope rope;
  for (const MetadataEntry& entry : entries) {
    Rope message;
    message.add_bytes(entry_field::kKey, entry.first);
    message.add_bytes(entry_field::kValue, entry.second);
    rope.add_message(field, message);
  }
  return bytes_of(rope);
}

// An entry that an earlier annotation left.
bool is_own_entry(std::string_view message, const Source& source) {
  for (FieldReader field(message, source, "a metadata entry"); field.next();) {
    if (field.number() == entry_field::kKey) return field.bytes().starts_with(kOwnKeys);
  }
  return false;
}

std::string node_name(std::string_view message, const Source& source) {
  std::string name;
  std::string output;
  for (FieldReader field(message, source, "a node"); field.next();) {
    if (field.number() == node_field::kName) name = field.bytes();
    if (field.number() == node_field::kOutput && output.empty()) output = field.bytes();
  }
  return name.empty() ? output : name;
}

class Annotator {
 public:
  Annotator(const Source& source, const ModelAnnotations& annotations)
      : source_(source), annotations_(annotations) {}

  Pieces model() {
    Pieces pieces;
    for (FieldReader field(source_.bytes, source_, "the model"); field.next();) {
      if (field.number() == model_field::kGraph) {
        const Pieces inner = graph(field.bytes());
        pieces.add(kept(header_of(model_field::kGraph, inner.size())));
        pieces.add(inner);
      } else if (!is_replaced(field, model_field::kMetadata)) {
        pieces.add(field.whole());
      }
    }
    pieces.add(kept(entries_text(model_field::kMetadata, annotations_.model)));
    return pieces;
  }

  std::size_t annotated() const { return annotated_; }
  bool has_external_data() const { return has_external_data_; }

 private:
  std::string_view kept(std::string bytes) { return owned_.emplace_back(std::move(bytes)); }

  bool is_replaced(const FieldReader& field, int metadata) const {
    return field.number() == metadata && is_own_entry(field.bytes(), source_);
  }

  Pieces graph(std::string_view message) {
    Pieces pieces;
    for (FieldReader field(message, source_, "the graph"); field.next();) {
      if (field.number() == graph_field::kInitializer) note_external(field.bytes());
      if (field.number() == graph_field::kNode) {
        add_node(field.bytes(), pieces);
      } else {
        pieces.add(field.whole());
      }
    }
    return pieces;
  }

  void add_node(std::string_view message, Pieces& pieces) {
    Pieces node;
    for (FieldReader field(message, source_, "a node"); field.next();) {
      if (!is_replaced(field, node_field::kMetadata)) node.add(field.whole());
    }
    if (const auto* entries = next_entries(node_name(message, source_))) {
      node.add(kept(entries_text(node_field::kMetadata, *entries)));
      ++annotated_;
    }
    pieces.add(kept(header_of(graph_field::kNode, node.size())));
    pieces.add(node);
  }

  // Nodes that share a name are annotated in order.
  const std::vector<MetadataEntry>* next_entries(const std::string& name) {
    const auto found = annotations_.nodes.find(name);
    if (found == annotations_.nodes.end()) return nullptr;
    const std::size_t at = used_[name]++;
    return at < found->second.size() ? &found->second[at] : nullptr;
  }

  void note_external(std::string_view tensor) {
    for (FieldReader field(tensor, source_, "a tensor"); field.next();) {
      if (field.number() == tensor_field::kExternalData) has_external_data_ = true;
    }
  }

  const Source& source_;
  const ModelAnnotations& annotations_;
  std::deque<std::string> owned_ = {};  // what the pieces refer to
  std::map<std::string, std::size_t> used_ = {};
  std::size_t annotated_ = 0;
  bool has_external_data_ = false;
};

bool are_in_one_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto folder_of = [](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path).parent_path());
  };
  return folder_of(a) == folder_of(b);
}

}  // namespace

std::size_t annotate_onnx(const std::filesystem::path& model, const std::filesystem::path& copy,
                          const ModelAnnotations& annotations) {
  const auto file = MappedFile::open(model);
  const auto bytes = file->bytes();
  const Source source{{reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                      mapped_storage(file)};
  Annotator annotator(source, annotations);
  const Pieces pieces = annotator.model();
  if (pieces.size() > kLargestModel) {
    fail_bad_input("{}: would be larger than 2 GiB, where ONNX files end", copy.string());
  }
  if (annotator.has_external_data() && !are_in_one_folder(model, copy)) {
    fail_bad_input("{}: the model's weights are in files beside {}; write the copy there too",
                   copy.string(), model.string());
  }
  AtomicFile output(copy);
  pieces.write(output);
  file->check_intact();
  output.commit();
  return annotator.annotated();
}

}  // namespace assay
