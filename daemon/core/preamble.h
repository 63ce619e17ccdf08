// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "daemon/core/build_plan.h"
#include "daemon/core/closure.h"
#include "daemon/core/compiler.h"
#include "proto/digest.h"

namespace cccl_cached {

/// A program's leading includes, as far as they can be parsed ahead for others.
struct Preamble {
  /// Of all that the compiler gets but what follows the preamble, and of whose files it gets:
  /// builds of one key can share what was parsed, if the files are the same still. Only ever of one
  /// user.
  cccl_cache::Digest key;
  size_t length = 0;  ///< bytes of the source
};

/// None: the program includes nothing, the toolchain's NVRTC can't, or the result is not kept
/// anyway.
[[nodiscard]] std::optional<Preamble> PreambleOf(const BuildPlan& plan);

/// The job that parses the preamble of this one: that part of its text, under a base name that no
/// program has.
[[nodiscard]] CompileJob PreambleJob(const CompileJob& job, const Preamble& preamble);

/// Whether the parsing of a preamble asked for the program itself: what it saw then was another
/// text.
[[nodiscard]] bool NamesProgram(const Closure& closure, const CompileJob& job);

}  // namespace cccl_cached
