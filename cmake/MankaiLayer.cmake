# mankai/layers.txt: MANKAI_LAYERS, lowest first, and MANKAI_BELOW_<layer>.
set(MANKAI_LAYERS "")
file(STRINGS ${PROJECT_SOURCE_DIR}/mankai/layers.txt lines REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/mankai/layers.txt)
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([^:]+):(.*)$" line "${line}")
  list(APPEND MANKAI_LAYERS ${CMAKE_MATCH_1})
  separate_arguments(MANKAI_BELOW_${CMAKE_MATCH_1} UNIX_COMMAND "${CMAKE_MATCH_2}")
endforeach()

# mankai_layer(NAME [LIBRARIES targets...] [PRIVATE_LIBRARIES targets...]): a static library of the sources in this folder
# and in those below it that have no CMakeLists.txt. It links the layers that it may include. `a/b` is the target
# mankai_a_b.
function(mankai_layer name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" target "mankai_${name}")
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp */*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.h *.hpp */*.hpp)
  list(FILTER sources EXCLUDE REGEX "_test(_support)?\\.cpp$")
  list(FILTER headers EXCLUDE REGEX "(^|/)detail/|test_support\\.hpp$|-inl\\.hpp$")
  file(GLOB others RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
  foreach(other IN LISTS others)
    cmake_path(GET other PARENT_PATH folder)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
    list(FILTER headers EXCLUDE REGEX "^${folder}/")
  endforeach()
  add_library(${target} STATIC ${sources})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_features(${target} PUBLIC cxx_std_23)
  list(TRANSFORM MANKAI_BELOW_${name} PREPEND mankai_ OUTPUT_VARIABLE below)
  list(TRANSFORM below REPLACE "/" "_")
  target_link_libraries(${target}
    PUBLIC ${below} ${ARG_LIBRARIES}
    PRIVATE mankai_compiler ${ARG_PRIVATE_LIBRARIES})
  set_target_properties(${target} PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/layers
    VERIFY_INTERFACE_HEADER_SETS ON)
  mankai_unity(${target})
endfunction()

# mankai_unity(TARGET [MOST]): g++ compiles up to MOST sources of a folder at once (12 unless said), in half of the time: names in
# anonymous namespaces must differ within a folder of a library or of a test program; a test may have a namespace of its own.
# clang compiles each source alone, and clang-tidy reads those commands.
function(mankai_unity target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(count EQUAL 1)
    return()
  endif()
  set(most 12)
  if(ARGC GREATER 1)
    set(most ${ARGV1})
  endif()
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    file(RELATIVE_PATH source_path ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    cmake_path(GET source_path PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "folder_${folder}" folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR batch "${count_${folder}} / ${most}")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # The warning takes every anonymous namespace outside of the main file for one of a header.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

# mankai_not_sanitized(TARGET): in a build with AddressSanitizer, compiles a target that reads no input from outside as fast as
# possible. The lab is a quarter of all compile time there.
function(mankai_not_sanitized target)
  if(MANKAI_SANITIZE MATCHES "address")
    target_compile_options(${target} PRIVATE -fno-sanitize=all -O0 -g0)
  endif()
endfunction()

# A precompiled header saves a fifth of a test's compile time. Not beside ccache, which would have to compile every test
# again where the header is another file.
if(MANKAI_BUILD_TESTS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "int main() {}\n")
  add_executable(mankai_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cpp)
  target_link_libraries(mankai_test_headers PRIVATE mankai_test_compiler GTest::gtest)
  target_precompile_headers(mankai_test_headers PRIVATE
    <gtest/gtest.h> <algorithm> <array> <expected> <filesystem> <functional> <map> <memory> <optional> <random> <set> <span>
    <string> <vector>)
endif()

# mankai_test(NAME [COST seconds] SOURCES ... [LIBRARIES targets...]): one gtest binary, one ctest entry. The longest tests
# have their time: they start first, so that the end of a parallel run is short. ctest remembers it after a first run.
function(mankai_test name)
  if(NOT MANKAI_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "COST" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} mankai_test_compiler GTest::gtest GTest::gtest_main)
  if(TARGET mankai_test_headers)
    target_precompile_headers(${name} REUSE_FROM mankai_test_headers)
  endif()
  mankai_unity(${name} 6)  # a dozen can take half a minute, and nothing else is left to compile at the end
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE MANKAI_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()
