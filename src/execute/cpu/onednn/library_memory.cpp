#include "execute/cpu/onednn/library_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/round.h"

namespace assay::cpu {

namespace {

// Only what is never written to: such pages hold nothing but the file's bytes.
bool is_code(const ElfW(Phdr) & segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
         (segment.p_flags & PF_W) == 0;
}

int give_back_code_of(dl_phdr_info* library, std::size_t /*size*/, void* /*unused*/) {
  const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (!is_code(segment)) continue;
    const ElfW(Addr) begin = rounded_up(library->dlpi_addr + segment.p_vaddr, page);
    const ElfW(Addr) end = (library->dlpi_addr + segment.p_vaddr + segment.p_memsz) / page * page;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells addresses as numbers
    if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

ForgetPrimitives::ForgetPrimitives(bool forgets) : forgets_(forgets) {
  if (!forgets_) return;
  capacity_ = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);
}

ForgetPrimitives::~ForgetPrimitives() {
  if (forgets_) dnnl_set_primitive_cache_capacity(capacity_);
}

void give_back_code_pages() {
  dl_iterate_phdr(give_back_code_of, nullptr);
  malloc_trim(0);
}

}  // namespace assay::cpu
