# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# The toolchains and the Python that scripts/setup installs for tests of several folders.
set(CCCL_CACHED_TEST_PYTHON ${PROJECT_SOURCE_DIR}/.venv/bin/python3 CACHE FILEPATH
    "Python with tests/requirements.txt installed")
set(CCCL_CACHED_TEST_CUDA12 ${PROJECT_SOURCE_DIR}/.toolchains/cu12 CACHE PATH "CUDA 12 for tests")
if(EXISTS ${PROJECT_SOURCE_DIR}/.toolchains/cu13)
  # The wheels put a toolkit there.
  set(default_cuda13 ${PROJECT_SOURCE_DIR}/.toolchains/cu13/nvidia/cu13)
else()
  set(default_cuda13 /usr/local/cuda)
endif()
set(CCCL_CACHED_TEST_CUDA13 ${default_cuda13} CACHE PATH "CUDA 13 for tests")
