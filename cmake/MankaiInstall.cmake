# What is built from the layers and installed: for C++ libmankai.a (the core; needs Highway, libsodium, libidn2, libpsl and libunistring) and
# libmankai_input.a (log and line readers; needs ISA-L, zstd and lzma as well), libmankai_database.a (rows of databases, filters in
# Redis; needs sqlite3, libpq, hiredis and OpenSSL); for C libmankai.so and libmankai_dablooms.so
# (mankai/c). The installed tree can be moved. Each component is a Debian package (MankaiPackages.cmake).
include(CMakePackageConfigHelpers)

set(MANKAI_CORE_LAYERS ${MANKAI_LAYERS})
list(REMOVE_ITEM MANKAI_CORE_LAYERS input remote gate/database)
set(MANKAI_INPUT_LAYERS input)
set(MANKAI_DATABASE_LAYERS remote gate/database)
set(MANKAI_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mankai)

# mankai_library(TARGET OUTPUT_NAME name EXPORT_NAME name LAYERS layers... LIBRARIES targets... PUBLIC_LIBRARIES ...):
# one static library of those layers that have sources, and its public headers.
function(mankai_library target)
  cmake_parse_arguments(ARG "" "OUTPUT_NAME;EXPORT_NAME" "LAYERS;LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  set(objects "")
  foreach(layer IN LISTS ARG_LAYERS)
    string(REPLACE "/" "_" name ${layer})
    list(APPEND objects $<TARGET_OBJECTS:mankai_${name}>)
    # Tests, the bodies that Highway compiles once per target, and what is behind the C interface stay at home.
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/mankai/${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mankai/${layer} COMPONENT libmankai-dev
      FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*test_support.hpp" EXCLUDE PATTERN "*_test*" EXCLUDE PATTERN "*-inl.hpp" EXCLUDE
      PATTERN "c/detail" EXCLUDE)
  endforeach()
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX
    ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    OUTPUT_NAME ${ARG_OUTPUT_NAME}
    EXPORT_NAME ${ARG_EXPORT_NAME})
  target_compile_features(${target} PUBLIC cxx_std_23)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${ARG_PUBLIC_LIBRARIES} PRIVATE ${ARG_LIBRARIES})
  add_library(mankai::${ARG_EXPORT_NAME} ALIAS ${target})
  install(TARGETS ${target} EXPORT ${target}-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libmankai-dev)
  install(EXPORT ${target}-targets NAMESPACE mankai:: DESTINATION ${MANKAI_PACKAGE_DIR} COMPONENT libmankai-dev)
endfunction()

mankai_library(mankai OUTPUT_NAME mankai EXPORT_NAME mankai
  LAYERS ${MANKAI_CORE_LAYERS}
  LIBRARIES PkgConfig::HWY PkgConfig::SODIUM PkgConfig::IDN2 PkgConfig::PSL Unistring::Unistring)
mankai_library(mankai_input_library OUTPUT_NAME mankai_input EXPORT_NAME input
  LAYERS ${MANKAI_INPUT_LAYERS}
  PUBLIC_LIBRARIES mankai
  LIBRARIES PkgConfig::ISAL PkgConfig::ZSTD PkgConfig::LZMA)
mankai_library(mankai_database_library OUTPUT_NAME mankai_database EXPORT_NAME database
  LAYERS ${MANKAI_DATABASE_LAYERS}
  PUBLIC_LIBRARIES mankai
  LIBRARIES PkgConfig::SQLITE PkgConfig::PQ PkgConfig::HIREDIS PkgConfig::OPENSSL)

# The shared libraries, each in an export of its own, since a program that needs one need not have the others' libraries.
foreach(target mankai_shared mankai_dablooms)
  install(TARGETS ${target} EXPORT ${target}-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT libmankai0 NAMELINK_COMPONENT libmankai-dev)
  install(EXPORT ${target}-targets NAMESPACE mankai:: DESTINATION ${MANKAI_PACKAGE_DIR} COMPONENT libmankai-dev)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/mankai/mankai.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mankai COMPONENT libmankai-dev)

# find_package(mankai)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mankaiConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/mankaiConfig.cmake INSTALL_DESTINATION ${MANKAI_PACKAGE_DIR})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/mankaiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/MankaiUnistring.cmake ${PROJECT_BINARY_DIR}/package/mankaiConfig.cmake ${PROJECT_BINARY_DIR}/package/mankaiConfigVersion.cmake
  DESTINATION ${MANKAI_PACKAGE_DIR} COMPONENT libmankai-dev)

# pkg-config: the prefix is found from where the .pc file lies.
string(REGEX REPLACE "[^/]+" ".." MANKAI_PC_PREFIX "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
foreach(package mankai mankai-c mankai-dablooms mankai-input mankai-database)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
endforeach()
foreach(package mankai mankai-c mankai-dablooms)
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libmankai-dev)
endforeach()
foreach(library input database)
  if(TARGET mankai_${library}_library)
    install(FILES ${PROJECT_BINARY_DIR}/package/mankai-${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libmankai-dev)
  endif()
endforeach()

# mankai_install_configured(TEMPLATE DESTINATION COMPONENT [KEEP]): installs a template with the folders of the installation, which are known
# only then. KEEP: not if the file is there, for files that users edit.
function(mankai_install_configured template destination component)
  cmake_path(GET template FILENAME name)
  string(REGEX REPLACE "\\.in$" "" name ${name})
  install(CODE "
    set(MANKAI_INSTALLED_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    set(MANKAI_INSTALLED_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
    set(MANKAI_INSTALLED_SYSCONFDIR \"${CMAKE_INSTALL_SYSCONFDIR}\")
    set(destination \"${destination}/${name}\")
    foreach(folder MANKAI_INSTALLED_BINDIR MANKAI_INSTALLED_SYSCONFDIR destination)
      cmake_path(ABSOLUTE_PATH \${folder} BASE_DIRECTORY \"\${MANKAI_INSTALLED_PREFIX}\")
    endforeach()
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${destination}\")
    if(NOT (\"${ARGN}\" STREQUAL KEEP AND EXISTS \"\$ENV{DESTDIR}\${destination}\"))
      message(STATUS \"Installing: \$ENV{DESTDIR}\${destination}\")
      configure_file(\"${template}\" \"\$ENV{DESTDIR}\${destination}\" @ONLY
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()"
    COMPONENT ${component})
endfunction()

# The programs, with the man pages and completions in share/ of the build folder. `mankai` works without `mankai-lab`.
# systemd looks for units below /usr and /usr/local.
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
if(TARGET mankai_command)
  install(TARGETS mankai_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mankai)
  install(TARGETS mankai_lab_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mankai-lab)
  foreach(unit mankai-guard.service.in mankai-guard-update.service.in mankai-guard-update.timer mankai-gate@.service.in mankai-hot@.service.in)
    mankai_install_configured(${packaging}/systemd/${unit} lib/systemd/system mankai)
  endforeach()
  mankai_install_configured(${packaging}/etc/guard.conf ${CMAKE_INSTALL_SYSCONFDIR}/mankai mankai KEEP)
  foreach(folder bash-completion zsh fish)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/${folder} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT mankai)
  endforeach()
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT mankai
    REGEX "/mankai-(lab|gen|claim|demo)[^/]*$" EXCLUDE)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT mankai-lab
    FILES_MATCHING REGEX "/mankai-(lab|gen|claim|demo)[^/]*$")
endif()
if(TARGET mankai_redis)
  # Executable: Redis refuses a module that is not, and CMake of Debian installs libraries without.
  install(TARGETS mankai_redis LIBRARY DESTINATION lib/mankai COMPONENT mankai-redis
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  mankai_install_configured(${packaging}/etc/redis.conf.in ${CMAKE_INSTALL_SYSCONFDIR}/mankai mankai-redis KEEP)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT mankai)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT mankai FILES_MATCHING PATTERN "*.md")
