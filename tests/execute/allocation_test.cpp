// A run allocates nothing: every operator new of this program is counted while a model runs.
// oneDNN allocates a small table in each call, which is its own affair.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "assay/program.h"
#include "assay/zoo.h"

namespace {

std::atomic<bool> is_counting = false;
std::atomic<int> counted = 0;

bool is_in_onednn(const void* caller) {
  Dl_info library;
  return dladdr(caller, &library) != 0 && library.dli_fname != nullptr &&
         std::strstr(library.dli_fname, "libdnnl") != nullptr;
}

void* allocated(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (is_counting && !is_in_onednn(caller)) ++counted;
  void* block = nullptr;
  if (posix_memalign(&block, alignment, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocated(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return allocated(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete[](void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace assay {
namespace {

int allocations_of(Program& program) {
  counted = 0;
  is_counting = true;
  program.run();
  is_counting = false;
  return counted;
}

struct Case {
  std::string network;
  OptimizeFor goal = OptimizeFor::Latency;
  int threads = 1;
};

class Allocation : public testing::TestWithParam<Case> {};

TEST_P(Allocation, NoneInARunOnceTheFirstIsOver) {
  const Case& one = GetParam();
  const auto program = compile(infer_shapes(zoo_model(one.network)),
                               {.optimize_for = one.goal, .cpu = {.threads = one.threads}});
  for (const StepInfo& step : program->steps()) ASSERT_EQ(step.fell_back, "") << step.name;
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  EXPECT_EQ(allocations_of(*program), 0);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int threads : {1, 2}) {
    for (const char* small : {"mlp", "small_cnn", "lenet5", "lstm", "encoder:layers=1"}) {
      all.push_back({small, OptimizeFor::Latency, threads});
    }
    // Timing the algorithms of these would take long.
    for (const char* large : {"mobilenet_v2", "resnet18"}) {
      all.push_back({large, OptimizeFor::Memory, threads});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Allocation, testing::ValuesIn(cases()), [](const auto& one) {
  std::string name = one.param.network + "_on_" + std::to_string(one.param.threads);
  for (char& letter : name) {
    if (!isalnum(static_cast<unsigned char>(letter))) letter = '_';
  }
  return name;
});

TEST(AllocationCount, SeesWhatAProgramAllocates) {
  const auto program = compile(infer_shapes(zoo_model("mlp")), {.engine = "reference"});
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  EXPECT_GT(allocations_of(*program), 0);
}

}  // namespace
}  // namespace assay
