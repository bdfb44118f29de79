# assay_folder(NAME [DEPENDS folder...] [HEADERS public-header...] [LIBRARIES target...])
#
# One folder of src/ is one target, assay_NAME. HEADERS are the files of include/assay/ that the
# folder implements. scripts/check_arrows reads these same calls, so the arrows are written once.
add_library(assay_flags INTERFACE)
target_include_directories(assay_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(assay_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)  # GCC 12 warns of std::string itself
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

function(assay_folder NAME)
  cmake_parse_arguments(FOLDER "" "" "DEPENDS;HEADERS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/*.cpp)
  add_library(assay_${NAME} STATIC ${sources})
  target_link_libraries(assay_${NAME} PUBLIC assay_flags fmt::fmt)
  foreach(dependency IN LISTS FOLDER_DEPENDS)
    target_link_libraries(assay_${NAME} PUBLIC assay_${dependency})
  endforeach()
  target_link_libraries(assay_${NAME} PRIVATE ${FOLDER_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY ASSAY_FOLDERS assay_${NAME})
  set_property(GLOBAL APPEND PROPERTY ASSAY_LIBRARIES ${FOLDER_LIBRARIES})
endfunction()
