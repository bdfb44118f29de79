# assay_folder(NAME [COLD] [DEPENDS folder...] [HEADERS public-header...] [LIBRARIES target...])
#
# One folder of src/ is one target, assay_NAME. HEADERS are the files of include/assay/ that the
# folder implements. COLD folders run once per command, over graphs and tables rather than over numbers:
# a release compiles them with fewer optimisations, in two thirds of the time. scripts/check_arrows reads
# these same calls, so the arrows are written once.
add_library(assay_flags INTERFACE)
target_include_directories(assay_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(assay_flags INTERFACE Threads::Threads)
target_compile_options(assay_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  # GCC 12 takes std::string itself for an overflow, depending on lengths as accidental as that of a path.
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
if(ASSAY_WERROR)
  target_compile_options(assay_flags INTERFACE -Werror)
endif()
if(ASSAY_SANITIZE)
  target_compile_options(assay_flags INTERFACE -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(assay_flags INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_FUZZ)
  target_compile_options(assay_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Headers that most files include, compiled once. Every file still includes what it uses: builds with a
# compiler launcher such as ccache, which would have to hash the precompiled header, go without.
set(ASSAY_COMMON_HEADERS
  <algorithm> <array> <cmath> <cstddef> <cstdint> <filesystem> <functional> <limits> <map> <memory> <numeric> <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/core.h>
  ${PROJECT_SOURCE_DIR}/include/assay/infer.h ${PROJECT_SOURCE_DIR}/src/base/checked.h
  ${PROJECT_SOURCE_DIR}/src/base/fail.h ${PROJECT_SOURCE_DIR}/src/base/text.h)

# precompile(TARGET [header...]): the common headers and those named. Without more headers, targets with the
# same flags share what the first of them compiled: SHARED_WITH names it.
function(assay_precompile TARGET)
  cmake_parse_arguments(PRECOMPILE "" "SHARED_WITH" "HEADERS" ${ARGN})
  if(NOT ASSAY_PCH)
    return()
  endif()
  if(PRECOMPILE_SHARED_WITH AND NOT PRECOMPILE_SHARED_WITH STREQUAL TARGET)
    target_precompile_headers(${TARGET} REUSE_FROM ${PRECOMPILE_SHARED_WITH})
  else()
    target_precompile_headers(${TARGET} PRIVATE ${ASSAY_COMMON_HEADERS} ${PRECOMPILE_HEADERS})
  endif()
endfunction()

# Several files of a folder are compiled as one: what takes the time is the headers and templates that they share.
# Larger batches compile everything sooner, and a change in one file later. File-local names must be unique within a
# folder.
set(ASSAY_BATCH 16 CACHE STRING "Source files compiled together; 1 compiles each on its own")

function(assay_batch TARGET)
  if(ASSAY_BATCH GREATER 1)
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ASSAY_BATCH})
  endif()
endfunction()

function(assay_compile_cold TARGET)
  target_compile_options(${TARGET} PRIVATE "$<$<CONFIG:Release>:-O1;-finline-functions>")
endfunction()

function(assay_folder NAME)
  cmake_parse_arguments(FOLDER "COLD" "" "DEPENDS;HEADERS;LIBRARIES;PRECOMPILE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/*.cpp)
  add_library(assay_${NAME} STATIC ${sources})
  target_link_libraries(assay_${NAME} PUBLIC assay_flags fmt::fmt)
  foreach(dependency IN LISTS FOLDER_DEPENDS)
    target_link_libraries(assay_${NAME} PUBLIC assay_${dependency})
  endforeach()
  target_link_libraries(assay_${NAME} PRIVATE ${FOLDER_LIBRARIES})
  if(FOLDER_PRECOMPILE)
    assay_precompile(assay_${NAME} HEADERS ${FOLDER_PRECOMPILE})
  else()
    assay_precompile(assay_${NAME} SHARED_WITH assay_base)
  endif()
  assay_batch(assay_${NAME})
  if(FOLDER_COLD)
    assay_compile_cold(assay_${NAME})
  endif()
  set_property(GLOBAL APPEND PROPERTY ASSAY_FOLDERS assay_${NAME})
  set_property(GLOBAL APPEND PROPERTY ASSAY_LIBRARIES ${FOLDER_LIBRARIES})
endfunction()
