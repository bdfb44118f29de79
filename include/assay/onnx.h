// ONNX files in and out.
//
// Reading maps the file and views its weights in place: nothing is copied, and every file is
// untrusted. Supported: opsets 1 to 21 of the standard domain (those before 7 are converted to 7;
// an op that cannot be converted is refused by name), every dense tensor encoding, external data
// beneath the model's folder, model-local functions (inlined), subgraphs. `Constant` nodes become
// initializers. Refused by name: sparse tensors, training information.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assay/graph.h"
#include "assay/progress.h"

namespace assay {

Graph read_onnx(const std::filesystem::path& path);
// Reads a model from memory; `bytes` is copied. External data is refused.
Graph read_onnx(std::span<const std::byte> bytes, const std::string& described_as);

// Reads a file that holds one tensor (a TensorProto, usually named .pb), without external data.
Tensor read_onnx_tensor(const std::filesystem::path& path);

struct WriteOptions {
  // Weights go to FILE.data beside FILE once the file would be larger than this. Protocol buffers
  // end at 2 GiB, so a larger limit is taken as 2 GiB.
  std::uint64_t largest_file = std::uint64_t{2} << 30;
};
// The file appears whole or not at all. Other tools require that the types of the outputs are
// known: write the result of `infer_shapes`.
void write_onnx(const Graph& graph, const std::filesystem::path& path,
                const WriteOptions& options = {}, Progress* progress = nullptr);

using MetadataEntry = std::pair<std::string, std::string>;

// Entries to add to a model file, which viewers such as Netron show.
struct ModelAnnotations {
  std::vector<MetadataEntry> model = {};
  // By name of a node of the main graph, or of its first output if it has none. Nodes that share a
  // name are listed in the order of the file.
  std::map<std::string, std::vector<std::vector<MetadataEntry>>> nodes = {};
};

// Writes a copy of the file with these entries in metadata_props; entries whose key begins with
// "assay." are replaced. Everything else is the same, byte by byte. Returns how many nodes have
// entries.
std::size_t annotate_onnx(const std::filesystem::path& model, const std::filesystem::path& copy,
                          const ModelAnnotations& annotations);

}  // namespace assay
