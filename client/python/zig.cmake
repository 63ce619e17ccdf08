# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Compiles for glibc 2.28 (2018), not for this system's C library. The compiler is in the Python package ziglang.
if(NOT CCCL_CACHE_ZIG)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import os, ziglang; print(os.path.dirname(ziglang.__file__))"
    OUTPUT_VARIABLE ziglang OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CCCL_CACHE_ZIG ${ziglang}/zig CACHE FILEPATH "The compiler of the wheel")
endif()
set(CCCL_CACHE_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR} CACHE STRING "The processor of the wheel")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CCCL_CACHE_ZIG CCCL_CACHE_PROCESSOR)
if(NOT CCCL_CACHE_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/${CCCL_CACHE_PROCESSOR}.cmake)
  unset(CMAKE_SYSROOT)  # zig has its own C headers
  set(CMAKE_OBJCOPY ${CCCL_CACHE_PROCESSOR}-linux-gnu-objcopy)
endif()
set(target ${CCCL_CACHE_PROCESSOR}-linux-gnu.2.28)
set(CMAKE_C_COMPILER ${CCCL_CACHE_ZIG} cc -target ${target})
set(CMAKE_CXX_COMPILER ${CCCL_CACHE_ZIG} c++ -target ${target})
