# Run by cpack on the files of the package: Debian wants manual pages and changelogs compressed, without a date.
file(GLOB documents
  ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man1/*.1 ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*/changelog)
foreach(document IN LISTS documents)
  execute_process(COMMAND gzip --force --best --no-name ${document} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
