# Warnings are errors in our own code; g++ 12 raises a false -Wrestrict on std::string.
add_library(mankai_compiler INTERFACE)
target_compile_options(mankai_compiler INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(mankai_compiler INTERFACE -Wno-restrict)
  # A sanitizer's checks hide from g++ what is initialised and how long it is; the plain builds look at that.
  if(MANKAI_SANITIZE)
    target_compile_options(mankai_compiler INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow)
  endif()
endif()
# Assertions name their file: keep the folder of the build out of the library.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(MANKAI_SANITIZE)
  add_compile_options(-fsanitize=${MANKAI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MANKAI_SANITIZE})
endif()
