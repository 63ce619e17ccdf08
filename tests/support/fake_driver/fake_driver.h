// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The answers of the fake libcuda.so.1, and a record of its calls. Not thread-safe.
struct FakeDriver {
  int version = 13000;
  int devices = 2;
  int major = 8;  ///< of the first device; the context's device has one more
  int minor = 0;
  bool context = true;  ///< a context is current
  std::vector<std::string> calls;
  std::string image;         ///< the image that was loaded last
  uint64_t host_memory = 0;  ///< an address of host memory, which is unknown to the driver
  size_t graphs = 0;  ///< graphs, including executable ones, that were made and not destroyed
};

extern "C" {
/// Exported by the library. Tests find it by dlsym.
FakeDriver* fake_driver();
/// Returns the calls so far, one a line, for callers that are not C++. Valid until the next call.
const char* fake_driver_calls();
}
