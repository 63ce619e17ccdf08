// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/nvcc/closure.h"
#include "client/nvcc/command_line.h"

namespace cccl_cache::nvcc {

/// A file that nvcc wrote.
struct Product {
  std::string path;  ///< as in Step::outputs
  bool executable = false;
  std::string_view contents;  ///< a view into the memory of the owner
};

/// The stored result of a successful run of nvcc, and what it depends on. It is encoded as:
///   contents = made:u64 took:u64 text(only in) closure
///              count { text(path) executable:u8 text(contents) } text(out) text(err) joined:u8
struct KeptStep {
  uint64_t made_s = 0;   ///< time of the run, in seconds since 1970
  uint64_t took_us = 0;  ///< duration of the run
  /// The absolute path of the source, if it was in a fresh directory and the run depends on its
  /// name in another way than as a text. Otherwise empty, and all texts have placeholders if it was
  /// in a fresh one.
  std::string only_in;
  Closure closure{{}};
  std::vector<Product> products;
  std::string out;
  std::string err;
  bool joined = false;  ///< whether `out` has the text of both outputs, in their order

  [[nodiscard]] std::string Encode() const;
  /// Returns none for damaged bytes. The products refer to `contents`.
  [[nodiscard]] static std::optional<KeptStep> Decode(std::string_view contents);

  /// Writes the products where nvcc would write them, and then the messages. Returns false if that
  /// fails, or if a product is none of the step's outputs.
  [[nodiscard]] bool Replay(const Step& step) const;
};

}  // namespace cccl_cache::nvcc
