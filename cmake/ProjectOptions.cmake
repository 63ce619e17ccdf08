# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Settings and warnings for our own code only. Targets link PRIVATE to cccl_cached_options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# A file costs a quarter less time in a unity source of 16 files than in one of 8, because common headers and templates are
# compiled once.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

option(CCCL_CACHED_WERROR "Treat warnings in our own code as errors" OFF)
option(CCCL_CACHED_UNIT_TESTS "Build the unit tests, which take most of the compiler's time" ON)
option(CCCL_CACHED_PORTABLE "On Debian 12, link the daemon for other systems as well, with glibc from 2.31 on" OFF)
cmake_host_system_information(RESULT release QUERY DISTRIB_VERSION_ID)
if(CCCL_CACHED_PORTABLE AND NOT release STREQUAL "12")
  message(STATUS "No daemon for other systems: it is made on Debian 12 (decision 46)")
  set(CCCL_CACHED_PORTABLE OFF)
endif()
set(CCCL_CACHED_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")

add_library(cccl_cached_options INTERFACE)
target_compile_options(cccl_cached_options INTERFACE
  -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wno-missing-field-initializers
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
  # At -O1 and under sanitizers, GCC 12 wrongly assumes that members of an inactive alternative of a variant are used.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # In a unity build, GCC treats each file as a header.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
  $<$<BOOL:${CCCL_CACHED_WERROR}>:-Werror>)
target_include_directories(cccl_cached_options INTERFACE ${PROJECT_SOURCE_DIR})
# A bug must stop the process in every build type, so assert stays on in release builds too.
foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_${config} "${CMAKE_CXX_FLAGS_${config}}")
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${config} "${CMAKE_C_FLAGS_${config}}")
endforeach()
if(CCCL_CACHED_SANITIZE)
  add_compile_options(-fsanitize=${CCCL_CACHED_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CCCL_CACHED_SANITIZE})
  # `null` takes up to a fifth of the compile time to check what AddressSanitizer finds too. `vptr` checks through a pipe that
  # an object is readable, which the worker's sandbox forbids. `object-size` has no effect without the optimizer, as clang
  # warns at -O0.
  if(CCCL_CACHED_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,object-size,vptr)
  endif()
endif()
