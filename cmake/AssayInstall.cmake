# cmake --install: the command line, the library with its headers, a CMake package, a pkg-config file, and the manual
# page and shell completions that the command line writes about itself.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/assay)

install(TARGETS assay_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(TARGETS assay EXPORT assayTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h")
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_folder} COMPONENT library)

configure_file(cmake/assayConfig.cmake.in assayConfig.cmake @ONLY)
write_basic_package_version_file(assayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/assayConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT library)

# Relative to the file itself, so that the prefix may be chosen, or moved, after configuring.
file(RELATIVE_PATH ASSAY_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(TRANSFORM ASSAY_LINK_NAMES PREPEND -l OUTPUT_VARIABLE link_flags)
list(JOIN link_flags " " ASSAY_PC_LIBS)
configure_file(cmake/assay.pc.in assay.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT library)

# A Debian package has both under these names.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT program)
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME changelog COMPONENT program)

# What the command line writes about itself: the manual page and completions.
set(described_man ${CMAKE_INSTALL_MANDIR}/man1/assay.1)
set(described_bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/assay)
set(described_zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_assay)
set(described_fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/assay.fish)
foreach(form man bash zsh fish)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/described/assay.${form})
  add_custom_command(OUTPUT ${file} COMMAND assay_cli describe ${form} > ${file} DEPENDS assay_cli VERBATIM)
  list(APPEND described_files ${file})
  cmake_path(GET described_${form} PARENT_PATH folder)
  cmake_path(GET described_${form} FILENAME name)
  install(FILES ${file} DESTINATION ${folder} RENAME ${name} COMPONENT program)
endforeach()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/described)
add_custom_target(assay_described ALL DEPENDS ${described_files})
