# Before CPack packs the components: what Debian's policy asks for beside the installed files.
set(date $ENV{SOURCE_DATE_EPOCH})
if(NOT date)
  message(FATAL_ERROR "SOURCE_DATE_EPOCH is not set; run `make package`")
endif()
execute_process(COMMAND date --utc --rfc-email --date=@${date} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)

function(finish component)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  set(folder ${root}/usr/share/doc/${component})
  string(TOUPPER ${component} key)

  # The license, and the notices of all that is linked in.
  file(READ ${CPACK_MANKAI_COPYRIGHT} copyright)
  foreach(package IN LISTS CPACK_MANKAI_CONTAINS_${key})
    file(READ /usr/share/doc/${package}/copyright notice)
    string(APPEND copyright "\n\n--- ${package} of Debian, parts of which are linked in or compiled in ---\n\n${notice}")
  endforeach()
  file(WRITE ${folder}/copyright "${copyright}")
  file(REMOVE ${folder}/LICENSE)
  file(WRITE ${folder}/changelog "mankai (${CPACK_PACKAGE_VERSION}) unstable; urgency=low\n
  * CHANGELOG.md of the package mankai has all changes.\n
 -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")

  file(GLOB_RECURSE to_compress ${root}/usr/share/man/*.1)
  execute_process(COMMAND gzip --best --no-name ${to_compress} ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${root}/usr/share/zsh/site-functions)
    file(RENAME ${root}/usr/share/zsh/site-functions ${root}/usr/share/zsh/vendor-completions)
  endif()
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  finish(${component})
endforeach()
file(MAKE_DIRECTORY ${CPACK_TEMPORARY_DIRECTORY}/mankai/var/lib/mankai)
