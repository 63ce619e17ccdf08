// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "proto/options.h"

namespace cccl_cache {

/// Looks at what pass-through options (`-Xptxas`, `-Xcudafe`, `-Xnvvm`) hand to the tools behind a
/// compiler, in the order of the request: a tool's argument can be the value of the one before. Not
/// thread-safe; one object a request.
class PassedOptions {
 public:
  /// Why the tool must not be given `value`; empty: it may. The reason has static storage.
  [[nodiscard]] std::string_view Refusal(OptionReceiver receiver, std::string_view value);

 private:
  [[nodiscard]] std::string_view AssemblerRefusal(std::string_view value);

  /// The assembler's previous argument was an option whose value is the next argument.
  bool assembler_awaits_value_ = false;
};

}  // namespace cccl_cache
