// What each stage of a count costs inside the library, on ResNet-50 from disk and on long chains.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "assay/assay.h"

namespace assay {
namespace {

// ResNet-50 as a file, removed when the program ends.
class ModelFile {
 public:
  ModelFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "assay-bench-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    write_onnx(zoo_model("resnet50"), path());
  }
  ~ModelFile() { std::filesystem::remove_all(folder_); }
  std::filesystem::path path() const { return folder_ / "resnet50.onnx"; }

 private:
  std::filesystem::path folder_;
};

const std::filesystem::path& model_path() {
  static const ModelFile file;
  static const std::filesystem::path path = file.path();
  return path;
}

Graph chain(std::int64_t nodes) {
  GraphBuilder builder("chain");
  ValueId value = builder.input("x", DataType::Float32, Shape{1, 64});
  for (std::int64_t i = 0; i < nodes; ++i) value = builder.node("Relu", "relu", {value});
  builder.output(value, "y");
  return builder.finish();
}

void BM_ReadResNet50(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_onnx(model_path()));
}

void BM_InferResNet50(benchmark::State& state) {
  const Graph graph = read_onnx(model_path());
  for (auto _ : state) benchmark::DoNotOptimize(infer_shapes(graph));
}

void BM_CostResNet50(benchmark::State& state) {
  const Inferred model = infer_shapes(read_onnx(model_path()));
  for (auto _ : state) benchmark::DoNotOptimize(count_costs(model));
}

void BM_PlanResNet50(benchmark::State& state) {
  const Inferred model = infer_shapes(read_onnx(model_path()));
  for (auto _ : state) benchmark::DoNotOptimize(plan_memory(model));
}

void BM_CountChain(benchmark::State& state) {
  const Graph graph = chain(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(count_model(graph, "chain"));
  state.SetComplexityN(state.range(0));
}

BENCHMARK(BM_ReadResNet50)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_InferResNet50)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CostResNet50)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PlanResNet50)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CountChain)
    ->RangeMultiplier(10)
    ->Range(1000, 100000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
