// The program's parallel regions, oneDNN's and ours, run on a Team instead of libgomp's threads,
// which spin for milliseconds: on a busy machine that costs a multiple of the time of a run.
//
// The functions here stand in front of libgomp's for regions whose code lies in this program or in
// oneDNN; regions of other libraries go on to libgomp. So do all of them if the environment has
// settings of OpenMP that a Team does not know. A program that links the library has libgomp's
// threads.
#if defined(__clang__) || defined(__SANITIZE_THREAD__)
// Clang's regions call other functions; execute/threads_tsan.cpp stands in front of libgomp's.
#else

#include <dlfcn.h>
#include <link.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/team.h"

namespace {

using assay::Team;

template <typename Function>
Function* of_libgomp(Function* /*like*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool environment_sets_up_openmp() {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool is_openmp = text.starts_with("OMP_") || text.starts_with("GOMP_");
    if (is_openmp && !text.starts_with("OMP_NUM_THREADS=")) return true;
  }
  return false;
}

struct Code {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

// Executable segments of the loaded file that an address belongs to.
struct CodeSearch {
  std::uintptr_t address = 0;
  std::vector<Code> found = {};
};

int add_code(dl_phdr_info* file, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<CodeSearch*>(data);
  std::vector<Code> segments;
  bool is_wanted = false;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const auto& header = file->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const Code segment{file->dlpi_addr + header.p_vaddr,
                       file->dlpi_addr + header.p_vaddr + header.p_memsz};
    is_wanted = is_wanted || segment.has(search.address);
    if ((header.p_flags & PF_X) != 0) segments.push_back(segment);
  }
  if (!is_wanted) return 0;
  search.found.insert(search.found.end(), segments.begin(), segments.end());
  return 1;
}

std::vector<Code> code_of_teams() {
  if (environment_sets_up_openmp()) return {};
  CodeSearch search{.address = reinterpret_cast<std::uintptr_t>(&add_code)};
  dl_iterate_phdr(add_code, &search);
  search.address = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "dnnl_primitive_execute"));
  dl_iterate_phdr(add_code, &search);
  return search.found;
}

bool runs_on_team(void (*body)(void*)) {
  static const std::vector<Code> code = code_of_teams();
  const auto address = reinterpret_cast<std::uintptr_t>(body);
  return std::ranges::any_of(code, [&](const Code& segment) { return segment.has(address); });
}

// As libgomp does, each thread that begins regions has workers of its own.
Team& team_of_thread() {
  thread_local Team team;
  return team;
}

}  // namespace

extern "C" {

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static auto* const parallel = of_libgomp(&GOMP_parallel, "GOMP_parallel");
  if (Team::current() != nullptr) return Team::run_alone(body, data);
  if (!runs_on_team(body)) return parallel(body, data, threads, flags);
  const int parts = threads == 0 ? omp_get_max_threads() : static_cast<int>(threads);
  if (parts <= 1) return Team::run_alone(body, data);
  team_of_thread().run(parts, body, data);
}

void GOMP_barrier() {
  static auto* const barrier = of_libgomp(&GOMP_barrier, "GOMP_barrier");
  const Team::Part* const part = Team::current();
  if (part == nullptr) return barrier();
  if (part->team != nullptr) part->team->meet();
}

int omp_get_thread_num() {
  static auto* const thread_num = of_libgomp(&omp_get_thread_num, "omp_get_thread_num");
  const Team::Part* const part = Team::current();
  return part != nullptr ? part->number : thread_num();
}

int omp_get_num_threads() {
  static auto* const num_threads = of_libgomp(&omp_get_num_threads, "omp_get_num_threads");
  const Team::Part* const part = Team::current();
  return part != nullptr ? part->count : num_threads();
}

int omp_in_parallel() {
  static auto* const in_parallel = of_libgomp(&omp_in_parallel, "omp_in_parallel");
  const Team::Part* const part = Team::current();
  return part != nullptr ? (part->is_in_parallel ? 1 : 0) : in_parallel();
}

}  // extern "C"

#endif
