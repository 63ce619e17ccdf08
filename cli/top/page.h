// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/style.h"

namespace cccl_cache::cli::top {

/// A part of a line, all of which has one role.
struct Span {
  std::string text;
  Role role = Role::kPlain;
};

struct Line {
  std::vector<Span> spans;  ///< without control characters
  bool selected = false;

  [[nodiscard]] std::string text() const;
};

struct Size {
  size_t rows;
  size_t columns;
};

/// Breaks a long line into several, if possible at spaces.
[[nodiscard]] std::vector<std::string_view> Broken(std::string_view text, size_t columns);

/// Returns the spans of a bar of `width` characters, of which the part `filled`, from 0 to 1, is
/// drawn in this role. The characters are ASCII unless `utf8`.
[[nodiscard]] std::vector<Span> Bar(double filled, size_t width, Role role, bool utf8);

/// The lines of a screen, from above. Texts may contain control characters, which are replaced.
class Page {
 public:
  explicit Page(const Size& size) : size_(size) {}

  /// Adds a line if there is room for it. Cuts off what does not fit into it.
  void Add(std::vector<Span> spans, bool selected = false);
  void Add(std::string text, Role role = Role::kPlain) {
    Add(std::vector<Span>{{std::move(text), role}});
  }
  /// Adds a text as lines that are broken, if possible at spaces.
  void AddWhole(std::string_view text, Role role = Role::kPlain);
  [[nodiscard]] size_t left() const { return size_.rows - lines_.size(); }
  [[nodiscard]] const Size& size() const { return size_; }
  [[nodiscard]] std::vector<Line> Take() { return std::move(lines_); }

 private:
  const Size size_;
  std::vector<Line> lines_;
};

}  // namespace cccl_cache::cli::top
