// Runs the fuzz target once over every file given, or found in a folder given: regressions and
// conformance models are tried in every build, with any compiler.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".onnx") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double seconds_for(const std::filesystem::path& path) {
  const std::string bytes = content_of(path);
  const auto start = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t tried = 0;
  double slowest = 0;
  std::filesystem::path slowest_file;
  for (int i = 1; i < count; ++i) {
    for (const auto& file : files_in(arguments[i])) {
      // Said before it is tried: after a crash, the last line names the file.
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);
      const double seconds = seconds_for(file);
      ++tried;
      if (seconds < slowest) continue;
      slowest = seconds;
      slowest_file = file;
    }
  }
  std::printf("%zu files, the slowest took %.3f s: %s\n", tried, slowest, slowest_file.c_str());
  return tried == 0 ? 1 : 0;
}
