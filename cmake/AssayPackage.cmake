# cpack: a Debian package of the command line with its manual page and completions. The library and its headers stay
# with cmake --install. In a cross-build, dpkg-architecture has to name the architecture for which dpkg-shlibdeps reads
# the program's libraries; scripts/build_arm64 does.
set(ASSAY_PACKAGE_MAINTAINER "the assay authors <maintainers@assay.invalid>" CACHE STRING
  "Who answers for the Debian package, with an address")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_VENDOR "the assay authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "what a neural network costs on a machine")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME assay)
set(CPACK_DEBIAN_PROGRAM_FILE_NAME DEB-DEFAULT)  # assay_0.1.0_arm64.deb
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${ASSAY_PACKAGE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS fonts-dejavu-core)  # letters in pictures
set(CPACK_DEBIAN_PACKAGE_SUGGESTS dataset-fashion-mnist)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"assay counts parameters, MACs, FLOPs, bytes and memory of an ONNX model layer
by layer, runs it and measures its latency with confidence intervals, compares
every layer with what the machine can do, and writes smaller and faster
versions: pruned, quantised, in lower precision.")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
# What the program links, with the versions it needs. Without dpkg-shlibdeps the package has no dependencies and cannot
# be trusted, so there is none.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/compress_documents.cmake)
include(CPack)
