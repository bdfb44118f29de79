# Tools that make building faster, where they are installed: ccache and a fast linker.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# A precompiled header saves more than it costs, unless a compiler cache would have to hash it every time.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile OFF)
else()
  set(precompile ON)
endif()
option(ASSAY_PCH "Precompile the headers that most files include" ${precompile})

include(CheckLinkerFlag)
foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} ASSAY_HAS_${linker})
  if(ASSAY_HAS_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()
