#include "python/src/openmp_of_onednn.h"

#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string_view>

extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
}

namespace assay::python {

namespace {

struct Replacement {
  std::string_view name;
  void* function = nullptr;
};

const std::array<Replacement, 6>& replacements() {
  static const std::array<Replacement, 6> all = {{
      {"GOMP_parallel", reinterpret_cast<void*>(&GOMP_parallel)},
      {"GOMP_barrier", reinterpret_cast<void*>(&GOMP_barrier)},
      {"omp_get_thread_num", reinterpret_cast<void*>(&omp_get_thread_num)},
      {"omp_get_num_threads", reinterpret_cast<void*>(&omp_get_num_threads)},
      {"omp_in_parallel", reinterpret_cast<void*>(&omp_in_parallel)},
      {"omp_get_max_threads", reinterpret_cast<void*>(&omp_get_max_threads)},
  }};
  return all;
}

void* replacement_for(std::string_view name) {
  for (const Replacement& replacement : replacements()) {
    if (replacement.name == name) return replacement.function;
  }
  return nullptr;
}

// Where a loaded file's calls of other files' functions are looked up.
struct Linkage {
  std::uintptr_t base = 0;
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * relocations[2] = {};
  std::size_t counts[2] = {};
  std::uintptr_t protected_begin = 0;
  std::uintptr_t protected_end = 0;
};

void read_dynamic(const ElfW(Dyn) * entry, Linkage& linkage) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    const std::size_t count = entry->d_un.d_val / sizeof(ElfW(Rela));
    switch (entry->d_tag) {
      case DT_STRTAB:
        linkage.names = reinterpret_cast<const char*>(address);
        break;
      case DT_SYMTAB:
        linkage.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_JMPREL:
        linkage.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        linkage.counts[0] = count;
        break;
      case DT_RELA:
        linkage.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        linkage.counts[1] = count;
        break;
      default:
        break;
    }
  }
}

bool refers_to_function(const ElfW(Rela) & relocation) {
#if defined(__x86_64__)
  const auto type = ELF64_R_TYPE(relocation.r_info);
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
  const auto type = ELF64_R_TYPE(relocation.r_info);
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
#else
  return false;
#endif
}

// The loader makes some pages read-only once a file is linked.
void write_pointer(const Linkage& linkage, std::uintptr_t place, void* function) {
  const bool is_protected = place >= linkage.protected_begin && place < linkage.protected_end;
  const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(place & ~(page_size - 1));
  if (is_protected && ::mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(reinterpret_cast<void**>(place), function, __ATOMIC_RELEASE);
  if (is_protected) ::mprotect(page, page_size, PROT_READ);
}

void relink(const Linkage& linkage) {
  if (linkage.names == nullptr || linkage.symbols == nullptr) return;
  for (std::size_t table = 0; table < 2; ++table) {
    for (std::size_t i = 0; i < linkage.counts[table]; ++i) {
      const ElfW(Rela)& relocation = linkage.relocations[table][i];
      if (!refers_to_function(relocation)) continue;
      const ElfW(Sym)& symbol = linkage.symbols[ELF64_R_SYM(relocation.r_info)];
      void* const function = replacement_for(linkage.names + symbol.st_name);
      if (function != nullptr) write_pointer(linkage, linkage.base + relocation.r_offset, function);
    }
  }
}

int relink_owner_of(dl_phdr_info* file, std::size_t /*size*/, void* wanted) {
  const auto address = reinterpret_cast<std::uintptr_t>(wanted);
  Linkage linkage{.base = file->dlpi_addr};
  const ElfW(Dyn)* dynamic = nullptr;
  bool is_wanted = false;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const auto& header = file->dlpi_phdr[i];
    const std::uintptr_t begin = file->dlpi_addr + header.p_vaddr;
    const std::uintptr_t end = begin + header.p_memsz;
    if (header.p_type == PT_LOAD && address >= begin && address < end) is_wanted = true;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_GNU_RELRO) {
      linkage.protected_begin = begin;
      linkage.protected_end = end;
    }
  }
  if (!is_wanted) return 0;
  if (dynamic != nullptr) {
    read_dynamic(dynamic, linkage);
    relink(linkage);
  }
  return 1;
}

}  // namespace

void use_own_openmp_in_onednn() {
  void* const onednn = ::dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
  if (onednn != nullptr) dl_iterate_phdr(relink_owner_of, onednn);
  ::pthread_atfork([] { omp_pause_resource_all(omp_pause_soft); }, nullptr, nullptr);
}

}  // namespace assay::python
