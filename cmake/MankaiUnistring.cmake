# Unistring::Unistring, which comes without a pkg-config file. For the build and, installed, for find_package(mankai).
find_path(UNISTRING_INCLUDE_DIR unistr.h)
find_library(UNISTRING_LIBRARY unistring)
set(UNISTRING_FOUND FALSE)
if(UNISTRING_INCLUDE_DIR AND UNISTRING_LIBRARY)
  set(UNISTRING_FOUND TRUE)
  if(NOT TARGET Unistring::Unistring)
    add_library(Unistring::Unistring INTERFACE IMPORTED)
    set_target_properties(Unistring::Unistring PROPERTIES
      INTERFACE_LINK_LIBRARIES ${UNISTRING_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${UNISTRING_INCLUDE_DIR})
  endif()
endif()
