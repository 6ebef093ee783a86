# For projects that run compiled models: find_package(xf) gives
#   xf::runtime, xf::runtime_static   the runtime, to link with
#   xf::xfc                           the compiler
#   xf_add_model(NAME ...)            a library that holds a model
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/xf-targets.cmake")

cmake_policy(PUSH)
cmake_policy(VERSION 3.22)

# xf_add_model(NAME DESCRIPTION.xf [STATIC] [OPTIONS OPTION...])
#
# Compiles a description, with options of xfc, to NAME.o and NAME.h in the current binary folder. Target NAME, linked into a program or library,
# brings the object, the header and the runtime: with STATIC xf::runtime_static, else xf::runtime. Paths in options are relative to the current
# source folder. The model is compiled again when a file changes that xfc has read.
function(xf_add_model name description)
  cmake_parse_arguments(PARSE_ARGV 2 arg "STATIC" "" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "xf_add_model(${name}): what is '${arg_UNPARSED_ARGUMENTS}'? Options of xfc follow the word OPTIONS")
  endif()
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
  set(header "${CMAKE_CURRENT_BINARY_DIR}/${name}.h")
  get_filename_component(description "${description}" ABSOLUTE)
  add_custom_command(OUTPUT "${object}" "${header}"
    COMMAND xf::xfc "${description}" ${arg_OPTIONS} --emit=obj -o "${object}" --depfile "${object}.d"
    DEPENDS "${description}" "$<TARGET_FILE:xf::xfc>" DEPFILE "${object}.d" WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Compiling model ${name}" VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  # Whatever includes the header waits for it.
  add_custom_target(${name}-files DEPENDS "${object}" "${header}")
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}-files)
  target_sources(${name} INTERFACE "${object}")
  target_include_directories(${name} INTERFACE "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(${name} INTERFACE $<IF:$<BOOL:${arg_STATIC}>,xf::runtime_static,xf::runtime>)
endfunction()

cmake_policy(POP)
