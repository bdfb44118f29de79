// All sizes and positions are in the 64-bit records: the others cannot hold more than 4 GB.
#include <zlib.h>

#include <concepts>

#include "assay/npz.h"
#include "base/atomic_file.h"
#include "data/npy_parts.h"
#include "data/zip_format.h"

namespace assay {

using namespace assay::data;

namespace {

constexpr std::uint16_t kWideVersion = 45;  // that readers need
constexpr std::uint16_t kMadeByUnix = 0x0300 | kWideVersion;
constexpr std::uint32_t kReadableFile = 0x81a4'0000;  // rw-r--r--
constexpr std::uint32_t kStoredPlainly = 0;           // no flags, no compression
constexpr std::uint32_t kNoDate = 0x0021'0000;  // 1 January 1980: equal arrays make equal files
constexpr std::uint16_t kSeeWideCount = 0xffff;
constexpr std::uint32_t kOneVolume = 0;
constexpr std::uint16_t kNoComment = 0;

// The numbers' bytes, one after the other.
template <std::unsigned_integral... Numbers>
std::string record(Numbers... numbers) {
  std::string text;
  (text.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return text;
}

std::uint16_t length_of(const std::string& text) {
  return static_cast<std::uint16_t>(text.size());
}

// An extra field: its kind, its length, and 64-bit numbers.
template <typename... Numbers>
std::string wide_field(Numbers... numbers) {
  constexpr auto kBytes = static_cast<std::uint16_t>(sizeof...(numbers) * sizeof(std::uint64_t));
  return record(kWideSizes, kBytes, std::uint64_t{numbers}...);
}

std::uint32_t checksum_of(std::string_view header, std::span<const std::byte> data) {
  uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
  if (!data.empty()) sum = crc32_z(sum, reinterpret_cast<const Bytef*>(data.data()), data.size());
  return static_cast<std::uint32_t>(sum);
}

class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path) : path_(path), file_(path) {}

  void add(const std::string& array, const Tensor& tensor) {
    const Tensor known = as_numpy_has_it(tensor, path_);
    const std::string name = array + ".npy";
    const std::string header = npy_header(known);
    const std::uint64_t size = header.size() + known.byte_size();
    const std::uint64_t at = file_.bytes_written();
    // Both headers have these in common.
    const std::string shared =
        record(kWideVersion, kStoredPlainly, kNoDate, checksum_of(header, known.bytes()),
               kSeeWideSizes, kSeeWideSizes, length_of(name));
    const std::string sizes = wide_field(size, size);
    const std::string sizes_and_place = wide_field(size, size, at);
    file_.write(record(kMemberSignature) + shared + record(length_of(sizes)) + name + sizes);
    file_.write(header);
    file_.write(known.bytes());
    directory_ +=
        record(kEntrySignature, kMadeByUnix) + shared +
        record(length_of(sizes_and_place), kNoComment, kOneVolume, kReadableFile, kSeeWideSizes) +
        name + sizes_and_place;
    ++entries_;
  }

  void finish() {
    const std::uint64_t start = file_.bytes_written();
    file_.write(directory_);
    const std::uint64_t end = file_.bytes_written();
    constexpr std::uint64_t kBytesThatFollow = 44;
    file_.write(record(kWideEndSignature, kBytesThatFollow, kWideVersion, kWideVersion, kOneVolume,
                       kOneVolume, entries_, entries_, end - start, start));
    file_.write(record(kWideLocatorSignature, kOneVolume, end, std::uint32_t{1}));
    file_.write(record(kEndSignature, kOneVolume, kSeeWideCount, kSeeWideCount, kSeeWideSizes,
                       kSeeWideSizes, kNoComment));
    file_.commit();
  }

 private:
  std::filesystem::path path_;
  AtomicFile file_;
  std::string directory_;
  std::uint64_t entries_ = 0;
};

}  // namespace

void write_npz(const std::map<std::string, Tensor>& arrays, const std::filesystem::path& path) {
  NpzWriter writer(path);
  for (const auto& [name, tensor] : arrays) writer.add(name, tensor);
  writer.finish();
}

}  // namespace assay
