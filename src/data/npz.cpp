#include "assay/npz.h"

#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "data/npy_parts.h"
#include "data/npz_archive.h"

namespace assay {

using namespace assay::data;

namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

NpzArchive::NpzArchive(const std::filesystem::path& path) : zip_(path) {
  for (const ZipMember& member : zip_.members()) {
    if (member.name.ends_with(kSuffix)) continue;
    fail_bad_input("{}: byte {}: '{}' is not an array, whose name ends in {}", zip_.name(),
                   member.header_at, without_control_characters(member.name), kSuffix);
  }
}

std::vector<std::string> NpzArchive::names() const {
  std::vector<std::string> names;
  for (const ZipMember& member : zip_.members()) {
    names.push_back(member.name.substr(0, member.name.size() - kSuffix.size()));
  }
  return names;
}

Tensor NpzArchive::read(const std::string& name) const {
  const auto& members = zip_.members();
  const auto found = std::ranges::find(members, name + std::string(kSuffix), &ZipMember::name);
  if (found == members.end()) fail_bad_input("{}: has no array '{}'", zip_.name(), name);
  return read_npy(*zip_.open(*found));
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  const NpzArchive archive(path);
  std::map<std::string, Tensor> arrays;
  for (const std::string& name : archive.names()) arrays.emplace(name, archive.read(name));
  return arrays;
}

}  // namespace assay
