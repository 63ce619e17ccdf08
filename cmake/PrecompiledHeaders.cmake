# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Parsed once for each target that has enough files: half of what clang does for a file here is to read the standard
# library's headers, and gRPC's. Only where tests are run by sanitizers: a file that does not include what it needs is
# found by all other presets.
option(CCCL_CACHED_PRECOMPILE "Parse common headers once for each target" OFF)

function(precompile_headers directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cc$")
    list(LENGTH sources files)
    if(files LESS 8)
      continue()
    endif()
    set(headers algorithm atomic chrono condition_variable cstdint cstring filesystem functional map memory mutex optional
                stop_token string string_view thread unordered_map utility variant vector)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if("gRPC::grpc++" IN_LIST libraries OR "cccl_cached_service" IN_LIST libraries)
      list(APPEND headers grpcpp/grpcpp.h)
    endif()
    if("Catch2::Catch2WithMain" IN_LIST libraries)
      list(APPEND headers catch2/catch.hpp)
    endif()
    list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${target} PRIVATE ${headers})
    # Equal inputs give equal bytes, for ccache's sake.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endforeach()
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory ${subdirectories})
    precompile_headers(${subdirectory})
  endforeach()
endfunction()
