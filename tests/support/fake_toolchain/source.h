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

/// A program as the fake NVRTC got it.
struct Source {
  std::string text;
  std::string name;
  std::vector<Header> headers;
  std::vector<std::string> include_directories;
};

/// The text with every `#include` replaced by the file that it names: an inline header, a file
/// beside the program (quoted names), a file below one of the include directories. False: `log`
/// names the file that can't be opened.
bool Preprocess(const Source& source, std::string& result, std::string& log);

}  // namespace fake_toolchain
