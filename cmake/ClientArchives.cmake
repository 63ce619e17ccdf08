# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Debian's archives of the client library's dependencies, for libraries that must need nothing but the C library.
find_program(CMAKE_OBJCOPY objcopy REQUIRED)

# client_archive(VARIABLE MODULE): sets VARIABLE to the archive of a pkg-config module.
function(client_archive variable module)
  pkg_get_variable(libraries ${module} libdir)
  set(name ${module}.a)
  if(NOT module MATCHES "^lib")
    set(name lib${module}.a)
  endif()
  set(archive ${libraries}/${name})
  if(NOT EXISTS ${archive})
    # The module of Debian's zstd names the folder above that of the architecture.
    set(archive ${libraries}/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/${name})
  endif()
  if(NOT EXISTS ${archive})
    message(FATAL_ERROR "${module}: ${archive} is missing: run scripts/setup")
  endif()
  set(${variable} ${archive} PARENT_SCOPE)
endfunction()

# client_curses(VARIABLE): sets VARIABLE to the archive of ncurses for wide characters, and to its archive for terminals
# (tinfo), if that is separate. The second archive may have one of several names.
function(client_curses variable)
  client_archive(archives ncursesw)
  pkg_check_modules(curses REQUIRED QUIET ncursesw)
  list(FILTER curses_STATIC_LIBRARIES INCLUDE REGEX "^tinfo")
  foreach(terminals IN LISTS curses_STATIC_LIBRARIES)
    client_archive(archive ${terminals})
    list(APPEND archives ${archive})
  endforeach()
  set(${variable} ${archives} PARENT_SCOPE)
endfunction()

# client_nghttp2(VARIABLE): sets VARIABLE to a copy of nghttp2's archive, and to an archive that the copy needs. Debian's
# archive is made for executables. One of its references can't be in a library: stderr, in a debug function that is never
# called.
function(client_nghttp2 variable)
  client_archive(archive libnghttp2)
  set(nghttp2 ${CMAKE_BINARY_DIR}/libnghttp2.a)
  if(NOT TARGET cccl_cache_no_stream)
    execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=cccl_cache_no_stream ${archive} ${nghttp2}
                    COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE ${CMAKE_BINARY_DIR}/no_stream.c
         "__attribute__((visibility(\"hidden\"))) void* cccl_cache_no_stream;\n")
    add_library(cccl_cache_no_stream STATIC ${CMAKE_BINARY_DIR}/no_stream.c)
  endif()
  set(${variable} ${nghttp2} cccl_cache_no_stream PARENT_SCOPE)
endfunction()
