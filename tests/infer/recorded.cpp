#include "recorded.h"

#include <fstream>
#include <iterator>
#include <protozero/pbf_reader.hpp>

namespace assay::test {

namespace {

enum Field : protozero::pbf_tag_type {
  kDims = 1,
  kType = 2,
  kFloats = 4,
  kInt32s = 5,
  kInt64s = 7,
  kRaw = 9,
  kDoubles = 10
};

template <typename T>
void append(std::vector<std::byte>& bytes, T number) {
  const auto* first = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

// Integers narrower than 32 bits, halves and truths are stored as int32.
void append_narrow(std::vector<std::byte>& bytes, DataType type, std::int64_t number) {
  const auto* first = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), first, first + bits(type) / 8);
}

}  // namespace

std::optional<Recorded> read_recorded(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Recorded recorded;
  std::vector<std::byte> content;
  std::vector<std::int64_t> narrow;
  protozero::pbf_reader reader(bytes);
  const auto is_packed = [&] {
    return reader.wire_type() == protozero::pbf_wire_type::length_delimited;
  };
  while (reader.next()) {
    switch (reader.tag()) {
      case kDims:
        if (!is_packed())
          recorded.dims.push_back(reader.get_int64());
        else
          for (const auto dim : reader.get_packed_int64()) recorded.dims.push_back(dim);
        break;
      case kType:
        recorded.type = static_cast<DataType>(reader.get_int32());
        break;
      case kFloats:
        if (!is_packed())
          append(content, reader.get_float());
        else
          for (const float number : reader.get_packed_float()) append(content, number);
        break;
      case kInt32s:
        if (!is_packed())
          narrow.push_back(reader.get_int32());
        else
          for (const auto number : reader.get_packed_int32()) narrow.push_back(number);
        break;
      case kInt64s:
        if (!is_packed())
          append(content, reader.get_int64());
        else
          for (const auto number : reader.get_packed_int64()) append(content, number);
        break;
      case kRaw: {
        const auto view = reader.get_view();
        const auto* first = reinterpret_cast<const std::byte*>(view.data());
        content.assign(first, first + view.size());
        break;
      }
      default:
        reader.skip();
    }
  }
  if (bits(recorded.type) < 8) return recorded;
  for (const std::int64_t number : narrow) append_narrow(content, recorded.type, number);
  recorded.content = Tensor(recorded.type, recorded.dims, heap_storage(std::move(content)));
  return recorded;
}

}  // namespace assay::test
