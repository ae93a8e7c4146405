# Debian packages, made by CPack: a component of the installation each. `make package` (tools/package.sh) runs it; docs/install.md is for users.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # it would precede the packages' own
set(CPACK_PACKAGE_CONTACT "Mankai developers <mankai@localhost.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# With DESTDIR, CMAKE_INSTALL_PREFIX is /usr while the files are installed, as the units need it.
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(packaging ${PROJECT_SOURCE_DIR}/packaging/deb)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging}/finish.cmake)
set(CPACK_MANKAI_COPYRIGHT ${packaging}/copyright)

# mankai_package(NAME SECTION section SUMMARY line DESCRIPTION text... [DEPENDS list] [RECOMMENDS list] [CONTAINS packages...] [CONTROL files...]):
# CONTAINS: Debian packages whose code is linked in or compiled in; their notices become part of the package's.
# CONTROL: maintainer scripts and the list of conffiles, in packaging/deb/NAME.
function(mankai_package name)
  cmake_parse_arguments(ARG "" "SECTION;SUMMARY;DESCRIPTION;DEPENDS;RECOMMENDS" "CONTAINS;CONTROL" ${ARGN})
  string(TOUPPER ${name} key)
  set(prefix CPACK_DEBIAN_${key})
  set(${prefix}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(${prefix}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  set(${prefix}_DESCRIPTION "${ARG_SUMMARY}\n${ARG_DESCRIPTION}" PARENT_SCOPE)
  set(${prefix}_PACKAGE_DEPENDS "${ARG_DEPENDS}" PARENT_SCOPE)
  set(${prefix}_PACKAGE_RECOMMENDS "${ARG_RECOMMENDS}" PARENT_SCOPE)
  list(TRANSFORM ARG_CONTROL PREPEND ${packaging}/${name}/)
  set(${prefix}_PACKAGE_CONTROL_EXTRA "${ARG_CONTROL}" PARENT_SCOPE)
  set(CPACK_MANKAI_CONTAINS_${key} "${ARG_CONTAINS}" PARENT_SCOPE)
endfunction()

set(linked_statically libhwy-dev libidn2-dev libpsl-dev libsodium-dev libunistring-dev libxxhash-dev libstdc++-12-dev)

mankai_package(mankai SECTION web
  SUMMARY "probabilistic filters for web services: the command"
  DESCRIPTION "Answers four questions about URLs, visitors or events in bounded memory: has it
been seen, how hot is it now, is it blocked, is there anything to fetch. With
systemd units for block-list checks over HTTP, for gates in front of databases,
and for the hottest keys of a log."
  RECOMMENDS "mankai-lab, procps"
  CONTAINS libcli11-dev libfmt-dev libhwy-dev libtomlplusplus-dev libxxhash-dev nlohmann-json3-dev
  CONTROL postinst prerm postrm conffiles)
mankai_package(mankai-lab SECTION web
  SUMMARY "probabilistic filters for web services: demonstration and measurements"
  DESCRIPTION "A tour of the four questions of mankai beside exact answers, generators of test
traffic, and measurements of what published sources claim."
  DEPENDS "mankai (= ${PROJECT_VERSION})"
  RECOMMENDS "gnuplot-nox | gnuplot"
  CONTAINS libcli11-dev libfmt-dev libhwy-dev libxxhash-dev nlohmann-json3-dev)
mankai_package(libmankai0 SECTION libs
  SUMMARY "probabilistic filters for web services: libraries for C"
  DESCRIPTION "Filters that answer whether a key was seen, how hot it is, whether it is
blocked, and whether there is anything to fetch. The interface of dablooms is a
second library."
  CONTAINS libhwy-dev libxxhash-dev
  CONTROL triggers)
mankai_package(libmankai-dev SECTION libdevel
  SUMMARY "probabilistic filters for web services: headers and C++ libraries"
  DESCRIPTION "Headers for C and C++, static libraries for C++, and files for CMake and
pkg-config. Readers of logs need the recommended compression libraries, and
gates in front of databases the recommended clients."
  DEPENDS "libmankai0 (= ${PROJECT_VERSION}), libhwy-dev, libsodium-dev, libidn2-dev, libpsl-dev, libunistring-dev"
  RECOMMENDS "libisal-dev, libzstd-dev, liblzma-dev, libsqlite3-dev, libpq-dev, libhiredis-dev, libssl-dev"
  CONTAINS libhwy-dev libxxhash-dev nlohmann-json3-dev)
mankai_package(mankai-redis SECTION database
  SUMMARY "probabilistic filters for web services: module for Redis and Valkey"
  DESCRIPTION "The commands of RedisBloom (BF, CF, CMS, TOPK) and of mankai (CBF, URL, GUARD,
GATE, HOT, FADE). Add 'include /etc/mankai/redis.conf' to the server's
configuration to load it."
  RECOMMENDS "redis-server | valkey-server"
  CONTAINS ${linked_statically}
  CONTROL conffiles)
mankai_package(python3-mankai SECTION python
  SUMMARY "probabilistic filters for web services: Python 3"
  DESCRIPTION "Filters of mankai for programs in Python 3, with a duplicate filter for Scrapy
and middlewares for WSGI and ASGI."
  DEPENDS "python3 (>= 3.11)"
  RECOMMENDS "python3-numpy"
  CONTAINS ${linked_statically})
mankai_package(mankai-sqlite SECTION database
  SUMMARY "probabilistic filters for web services: extension of SQLite"
  DESCRIPTION "Functions of SQL that look up rows in filters and block lists of mankai."
  RECOMMENDS "sqlite3"
  CONTAINS ${linked_statically} libsqlite3-dev)
mankai_package(mankai-lua SECTION web
  SUMMARY "probabilistic filters for web services: LuaJIT and nginx"
  DESCRIPTION "A module for LuaJIT, and so for nginx, that looks up URLs in block lists of
mankai, and keys in filters."
  DEPENDS "libmankai0 (= ${PROJECT_VERSION})"
  RECOMMENDS "libnginx-mod-http-lua | luajit2 | luajit")

# Those that have a file in this build.
get_cmake_property(CPACK_COMPONENTS_ALL COMPONENTS)
include(CPack)
