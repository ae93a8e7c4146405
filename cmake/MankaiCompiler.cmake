# Warnings are errors in our own code; g++ 12 raises a false -Wrestrict on std::string.
add_library(mankai_compiler INTERFACE)
target_compile_options(mankai_compiler INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(mankai_compiler INTERFACE -Wno-restrict)
  # A sanitizer's checks hide from g++ what is initialized and how long it is; the plain builds look at that.
  if(MANKAI_SANITIZE)
    target_compile_options(mankai_compiler INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow)
  endif()
endif()
# Assertions name their file: keep the folder of the build out of the library.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# Vectors of SVE have no size that is known to the compiler: they cannot be members or in arrays, as ours are.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()
if(MANKAI_SANITIZE)
  add_compile_options(-fsanitize=${MANKAI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # The asan preset leaves out the checks that others make too: 14 files of all parts compiled in a fifth less time without
  # them, files of tests in up to 40% less. ASan reports a null pointer and an access beyond an object; -Wreturn-type is an error. The fuzz
  # preset has all checks, so alignment, vptr and nonnull are checked there.
  if(MANKAI_NO_SANITIZE)
    add_compile_options(-fno-sanitize=${MANKAI_NO_SANITIZE})
  endif()
  add_link_options(-fsanitize=${MANKAI_SANITIZE})
endif()

# For the files of tests, which take most of the compile time and little of the run time: -O1 instead of -O3 saves a fifth
# of it, -Og instead of -O1 under sanitizers a quarter (samples of 12 and 14 files). What they test keeps the options of the build type.
add_library(mankai_test_compiler INTERFACE)
target_link_libraries(mankai_test_compiler INTERFACE mankai_compiler)
# With a precompiled header g++ 12 raises two false warnings of the standard library's insides.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(mankai_test_compiler INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(MANKAI_SANITIZE)
  target_compile_options(mankai_test_compiler INTERFACE -Og)
  target_compile_definitions(mankai_test_compiler INTERFACE MANKAI_SAMPLED)  # tests/support/sampled.hpp
else()
  target_compile_options(mankai_test_compiler INTERFACE $<$<CONFIG:Release>:-O1>)
endif()
