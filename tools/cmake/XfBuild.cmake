# Settings and helpers shared by all directories.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# A tenth faster to compile than -O3, which makes nothing here faster.
string(REPLACE -O3 -O2 CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
# Installed tools find libMLIR where it was linked from.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# For tools/sanitize.sh: what is built here is instrumented, generated code and LLVM are not.
set(XF_SANITIZE "" CACHE STRING "Sanitizers to build with, such as address,undefined")
if(XF_SANITIZE)
  # LLVM's classes have no type information that the check of virtual tables could see.
  set(XF_SANITIZE_FLAGS " -fsanitize=${XF_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1")
  string(APPEND CMAKE_C_FLAGS "${XF_SANITIZE_FLAGS}")
  string(APPEND CMAKE_CXX_FLAGS "${XF_SANITIZE_FLAGS}")
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's stable_sort calls a function that it calls deprecated.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
endif()

find_program(XF_CCACHE ccache)
if(XF_CCACHE)
  # What ccache wants before it caches units that use a precompiled header.
  set(XF_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${XF_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${XF_LAUNCHER}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${XF_LAUNCHER}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  else()
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

# LLVM and MLIR 22. Everything links the shared libMLIR and libLLVM: one copy, and a build of minutes.
set(LLVM_LINK_LLVM_DYLIB ON)
set(MLIR_LINK_MLIR_DYLIB ON)
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(LLVM 22.1 REQUIRED CONFIG)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(XF_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# mlir_tablegen finds the .td files of MLIR through the directory property.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})

# An interface target with what every compiler library needs from LLVM and MLIR.
add_library(XfMLIR INTERFACE)
target_include_directories(XfMLIR SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(XfMLIR INTERFACE ${XF_LLVM_DEFINITIONS})
target_link_libraries(XfMLIR INTERFACE MLIR LLVM)

# The target whose precompiled headers a directory's targets use.
set(XF_PRECOMPILED XfDialect)

# Settings of what uses MLIR: xf_use_mlir(NAME).
function(xf_use_mlir name)
  # MLIR knows types and traits by the address of an inline variable: ours must be libMLIR's own, hence visible.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
  target_link_libraries(${name} PUBLIC XfMLIR fmt::fmt)
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR};${PROJECT_BINARY_DIR}>")
  add_dependencies(${name} XfDialectIncGen)
  # The headers are compiled with the options of a library.
  if(NOT name STREQUAL XF_PRECOMPILED)
    target_compile_options(${name} PRIVATE -fPIC)
    target_precompile_headers(${name} REUSE_FROM ${XF_PRECOMPILED})
  endif()
endfunction()

# Warnings for our own code: xf_warn(NAME).
function(xf_warn name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns of copies of strings in its own library.
    target_compile_options(${name} PRIVATE -Wno-stringop-overflow)
  endif()
endfunction()

# xf_add_library(NAME SOURCES... [DEPENDS ...] [LINK ...]): a static compiler library on MLIR.
function(xf_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  xf_warn(${name})
  xf_use_mlir(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# xf_add_tool(NAME SOURCES... [LINK ...]): a program in build/bin.
function(xf_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  xf_warn(${name})
  xf_use_mlir(${name})
endfunction()
