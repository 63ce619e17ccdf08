// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/request.h"

namespace cccl_cache::daemon::testing {

/// Makes random requests of all kinds for property tests. Equal seeds give equal requests on every
/// machine. All options are valid for every compiler. Not thread-safe.
class RandomRequests {
 public:
  explicit RandomRequests(uint32_t seed) : numbers_(seed) {}

  cccl_cache::BuildRequest Next() {
    cccl_cache::BuildRequest request;
    switch (Below(3)) {
      case 0:
        request.program = Nvrtc();
        request.working_directory = OneOf({"", "/", "/home/one"});
        break;
      case 1:
        request.program = Link();
        break;
      default:
        request.program = Nvvm();
    }
    return request;
  }

  /// Returns a number below `bound`, which is not 0.
  size_t Below(size_t bound) { return numbers_() % bound; }

  /// Puts the values into a random order.
  template <typename Value>
  void Shuffle(std::vector<Value>* values) {
    for (size_t left = values->size(); left > 1; --left) {
      std::swap((*values)[left - 1], (*values)[Below(left)]);
    }
  }

 private:
  std::string OneOf(const std::vector<std::string_view>& choices) {
    return std::string(choices[Below(choices.size())]);
  }

  /// Returns a text of few different letters, so that texts are often similar. It has no NUL.
  std::string Text(std::string_view letters = "ab/ =-<>") {
    std::string text;
    for (size_t length = Below(12); length > 0; --length) text += letters[Below(letters.size())];
    return text;
  }

  std::string Bytes() { return Text(std::string_view("\0ab\xff", 4)); }

  template <typename Make>
  auto Some(Make make) {
    std::vector<decltype(make())> all;
    for (size_t left = Below(5); left > 0; --left) all.push_back(make());
    return all;
  }

  std::vector<std::string> Options(const std::vector<std::string_view>& choices) {
    return Some([&] { return OneOf(choices); });
  }

  cccl_cache::NvrtcProgram Nvrtc() {
    cccl_cache::NvrtcProgram program;
    program.source = Text();
    program.name = Text();
    program.options = Options({"-arch=sm_90", "-DA=1", "-DA", "-UA", "-I/one", "-w", "-lineinfo",
                               "-no-such-option", "-frandom-seed=1", "-std=c++17"});
    program.headers =
        Some([&] { return cccl_cache::InlineHeader{.name = Text(), .contents = Text()}; });
    program.name_expressions = Some([&] { return Text(); });
    return program;
  }

  cccl_cache::LinkProgram Link() {
    cccl_cache::LinkProgram program;
    program.inputs = Some([&] {
      return cccl_cache::LinkInput{.type = static_cast<cccl_cache::LinkInputType>(Below(7)),
                                   .name = Text(),
                                   .contents = Bytes()};
    });
    program.options = Options({"-arch=sm_90", "-lto", "-O3", "-Xptxas=-O0", "-no-such-option"});
    return program;
  }

  cccl_cache::NvvmProgram Nvvm() {
    cccl_cache::NvvmProgram program;
    program.modules = Some([&] {
      return cccl_cache::NvvmModule{.name = Text(), .contents = Bytes(), .lazy = Below(2) == 1};
    });
    program.options = Options({"-arch=compute_90", "-opt=0", "-ftz=1", "-no-such-option"});
    program.add_libdevice = Below(2) == 1;
    return program;
  }

  std::mt19937 numbers_;
};

}  // namespace cccl_cache::daemon::testing
