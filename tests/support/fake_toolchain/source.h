// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fake_toolchain {

struct Header {
  std::string name;
  std::string contents;
};

/// A program as the fake NVRTC received it.
struct Source {
  std::string text;
  std::string name;
  std::vector<Header> headers;
  std::vector<std::string> include_directories;
};

/// Replaces every `#include` by the file that it names: an inline header, a file beside the program
/// (quoted names) or a file below an include directory. If a file can't be opened, adds its name to
/// `log` and returns false.
bool Preprocess(const Source& source, std::string& result, std::string& log);

}  // namespace fake_toolchain
