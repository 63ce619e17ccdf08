// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// What the fake libcuda.so.1 answers, and what it was asked. Not thread-safe.
struct FakeDriver {
  int version = 13000;
  int devices = 1;
  int major = 8;  ///< of the first device; that of the context's is one more
  int minor = 0;
  bool context = true;  ///< one is current
  std::vector<std::string> calls;
  std::string image;  ///< that was loaded last
};

/// Exported by the library; found with dlsym.
extern "C" FakeDriver* fake_driver();
