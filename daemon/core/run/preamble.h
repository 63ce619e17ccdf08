// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "daemon/core/closure/closure.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A program's leading includes, as far as they can be parsed ahead for others.
struct Preamble {
  /// Of all that the compiler gets but what follows the preamble, and of whose files it gets:
  /// builds of one key can share what was parsed, if the files are the same still. Only ever of one
  /// user.
  Digest key;
  size_t length = 0;  ///< bytes of the source
};

/// None: the program includes nothing, the toolchain's NVRTC can't, the result is not kept anyway,
/// what is parsed can show the program's name, the program can show its functions' names, or what
/// is made (LTO-IR, OptiX-IR, with -G) could have other bytes than without.
[[nodiscard]] std::optional<Preamble> PreambleOf(const BuildPlan& plan);

/// The job that parses the preamble of this one: that part of its text, under a base name that no
/// program has. It keeps nothing of the request alive.
[[nodiscard]] CompileJob PreambleJob(const CompileJob& job, const Preamble& preamble);

/// What such a job and the plan's directories take in memory, besides what all share.
[[nodiscard]] uint64_t BytesOf(const CompileJob& preamble_job, const BuildPlan& plan);

/// Whether the name under which preambles are parsed stands in this output: the compiler put the
/// program's name where no scan of the text foresaw it, and it is the wrong one.
[[nodiscard]] bool ShowsPreamble(const Artifact& artifact);

/// Whether a mangled name stands in the log or in a string of the PTX. The compiler writes
/// enumerators that it has from a precompiled header so where they are template arguments, in
/// warnings and in what __PRETTY_FUNCTION__ gives.
[[nodiscard]] bool ShowsMangledNames(const Artifact& artifact);

/// Whether the parsing of a preamble asked for the program itself: what it saw then was another
/// text.
[[nodiscard]] bool NamesProgram(const Closure& closure, const CompileJob& job);

}  // namespace cccl_cache::daemon
