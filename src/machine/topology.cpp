#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "assay/machine.h"
#include "base/arm_processor.h"
#include "base/cache_sizes.h"
#include "base/fail.h"
#include "base/processors.h"

namespace assay {

namespace {

using Tree = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Tree load_tree() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) fail_running("hwloc: cannot initialise");
  Tree tree(raw, &hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) fail_running("hwloc: cannot read this machine's topology");
  return tree;
}

int count_of(hwloc_topology* tree, hwloc_obj_type_t type) {
  return std::max(1, hwloc_get_nbobjs_by_type(tree, type));
}

std::string processor_name(hwloc_topology* tree) {
  if (const auto name = arm_processor_name()) return *name;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE}) {
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(tree, type, object)) != nullptr;) {
      if (const char* model = hwloc_obj_get_info_by_name(object, "CPUModel")) return model;
    }
  }
  return "unknown processor";
}

std::vector<CacheLevel> caches_of_device_tree() {
  std::vector<CacheLevel> caches;
  for (const CacheSize& cache : cache_sizes_of_device_tree()) {
    caches.push_back({.level = cache.level, .bytes = cache.bytes, .processors = cache.processors});
  }
  return caches;
}

// hwloc reads sysfs, where kernels of some boards have caches without a size or none at all.
std::vector<CacheLevel> caches_of(hwloc_topology* tree) {
  std::vector<CacheLevel> caches;
  hwloc_obj_t object = hwloc_get_obj_by_type(tree, HWLOC_OBJ_PU, 0);
  for (; object != nullptr; object = object->parent) {
    if (!hwloc_obj_type_is_dcache(object->type)) continue;
    caches.push_back({.level = static_cast<int>(object->attr->cache.depth),
                      .bytes = static_cast<std::int64_t>(object->attr->cache.size),
                      .processors = hwloc_bitmap_weight(object->cpuset)});
  }
  const bool are_known =
      !caches.empty() &&
      std::ranges::all_of(caches, [](const CacheLevel& cache) { return cache.bytes > 0; });
  return are_known ? caches : caches_of_device_tree();
}

bool may_run_on(unsigned processor) {
  return std::ranges::binary_search(available_processors(), static_cast<int>(processor));
}

// The first processor of every core, then the second of each…
std::vector<int> usable_processors(hwloc_topology* tree) {
  std::vector<int> usable;
  const int cores = count_of(tree, HWLOC_OBJ_CORE);
  bool found = true;
  for (unsigned sibling = 0; found; ++sibling) {
    found = false;
    for (int i = 0; i < cores; ++i) {
      const hwloc_obj_t core =
          hwloc_get_obj_by_type(tree, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
      const hwloc_obj_t unit = core == nullptr ? nullptr
                                               : hwloc_get_obj_inside_cpuset_by_type(
                                                     tree, core->cpuset, HWLOC_OBJ_PU, sibling);
      if (unit == nullptr) continue;
      found = true;
      if (may_run_on(unit->os_index)) usable.push_back(static_cast<int>(unit->os_index));
    }
  }
  return usable.empty() ? available_processors() : usable;
}

}  // namespace

Topology read_topology() {
  const Tree tree = load_tree();
  Topology topology;
  topology.processor = processor_name(tree.get());
  topology.packages = count_of(tree.get(), HWLOC_OBJ_PACKAGE);
  topology.cores = count_of(tree.get(), HWLOC_OBJ_CORE);
  topology.processors = count_of(tree.get(), HWLOC_OBJ_PU);
  topology.numa_nodes = count_of(tree.get(), HWLOC_OBJ_NUMANODE);
  topology.usable = usable_processors(tree.get());
  topology.caches = caches_of(tree.get());
  topology.memory_bytes = static_cast<std::int64_t>(hwloc_get_root_obj(tree.get())->total_memory);
  return topology;
}

}  // namespace assay
