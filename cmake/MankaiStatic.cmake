# A target with the property MANKAI_STATIC links the static libraries of what mankai::core needs; all others link the shared ones.

# mankai_offer_static(TARGET archives...): in the order in which they must be linked.
function(mankai_offer_static target)
  set(archives "")
  foreach(name IN LISTS ARGN)
    find_library(MANKAI_STATIC_${name} lib${name}.a)
    mark_as_advanced(MANKAI_STATIC_${name})
    if(NOT MANKAI_STATIC_${name})
      message(FATAL_ERROR "lib${name}.a is missing: install it, or set MANKAI_REDIS_STATIC=OFF")
    endif()
    # Symbols with versions, which libidn2 has, would need a node each in the module's version script. Nothing refers to them.
    set(archive ${PROJECT_BINARY_DIR}/static/lib${name}.a)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/static)
    execute_process(COMMAND ${CMAKE_OBJCOPY} --wildcard --localize-symbol=*@* ${MANKAI_STATIC_${name}} ${archive}
      COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND archives ${archive})
  endforeach()
  get_target_property(shared ${target} INTERFACE_LINK_LIBRARIES)
  set(is_static "$<BOOL:$<TARGET_PROPERTY:MANKAI_STATIC>>")
  set_target_properties(${target} PROPERTIES
    INTERFACE_LINK_LIBRARIES "$<${is_static}:${archives}>;$<$<NOT:${is_static}>:${shared}>")
endfunction()

mankai_offer_static(PkgConfig::HWY)  # Debian has no libhwy.a: mankai/kernel/static_highway
mankai_offer_static(PkgConfig::SODIUM sodium)
mankai_offer_static(PkgConfig::IDN2 idn2 unistring)
mankai_offer_static(PkgConfig::PSL psl idn2 unistring)
mankai_offer_static(Unistring::Unistring unistring)

# mankai_binding(TARGET MAP file SOURCES sources...): an extension of a language's runtime over mankai/c, in one file that needs no library
# but those of the system. The version script names what the runtime looks for.
function(mankai_binding target)
  cmake_parse_arguments(ARG "" "MAP" "SOURCES" ${ARGN})
  add_library(${target} MODULE ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE mankai_c mankai_static_highway)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Werror -ffunction-sections)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed LINKER:-z,text LINKER:--gc-sections
    LINKER:--version-script=${ARG_MAP})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${ARG_MAP} MANKAI_STATIC ON PREFIX "")
endfunction()
