# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Common headers, parsed once for each target with enough files, because clang spends half of a compile on the headers of the
# standard library and gRPC. Only the presets with sanitizers use them. The other presets find files that lack an include.
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
    # Makes equal inputs give equal bytes, so that ccache has hits.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endforeach()
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory ${subdirectories})
    precompile_headers(${subdirectory})
  endforeach()
endfunction()
