// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/closure/closure.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The leading includes of a program, as far as they can be parsed in advance for other programs.
struct Preamble {
  /// Digest of the compiler's input up to the end of the preamble, and of the user and the view of
  /// files. Builds with one key can share the parsed preamble if its files have not changed.
  Digest key;
  /// The same digest with the program's own directory, for programs that read files in it.
  Digest key_in_directory;
  size_t length = 0;  ///< in bytes of the source
};

/// Returns none if the program includes nothing, if the toolchain's NVRTC has no precompiled
/// headers, or if the result is not cached. Also returns none if the preamble could change the
/// output: if the parsed part may show the program's name, or the program its functions' names; for
/// OptiX-IR; with -G; and for LTO-IR without an nvJitLink.
[[nodiscard]] std::optional<Preamble> PreambleOf(const BuildPlan& plan);

/// Returns whether the job makes LTO-IR or OptiX-IR, which always name paths, without meaning.
[[nodiscard]] bool MakesIntermediateCode(const CompileJob& job);

/// Returns the options that compile the same program to PTX alone, instead of intermediate code.
/// The PTX is relocatable: like intermediate code, it holds functions that no kernel calls.
[[nodiscard]] std::vector<std::string> OptionsToPtx(std::vector<std::string> options);

/// Returns the job that parses the preamble of this job: that part of its text, with a base name
/// that no program has. It keeps nothing of the request alive.
[[nodiscard]] CompileJob PreambleJob(const CompileJob& job, const Preamble& preamble);

/// Returns the bytes of such a job and of the plan's directories, except shared ones.
[[nodiscard]] uint64_t BytesOf(const CompileJob& preamble_job, const BuildPlan& plan);

/// Returns whether the output shows the name under which preambles are parsed. The compiler has
/// then written the program's name where the scan of the text did not expect it, and the name is
/// wrong.
[[nodiscard]] bool ShowsPreamble(const Artifact& artifact);

/// Returns whether the log or a string of the PTX shows a mangled name. The compiler mangles
/// enumerators from a precompiled header if they are template arguments, in warnings and in the
/// text of __PRETTY_FUNCTION__.
[[nodiscard]] bool ShowsMangledNames(const Artifact& artifact);

/// Returns whether a compile read a file in the program's own directory.
[[nodiscard]] bool ReadsOwnDirectory(const Closure& closure);

/// Returns whether the parse of a preamble opened the program itself, which had another text then.
[[nodiscard]] bool NamesProgram(const Closure& closure, const CompileJob& job);

}  // namespace cccl_cache::daemon
