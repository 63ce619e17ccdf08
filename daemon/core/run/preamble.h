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

/// A program's leading includes, as far as they can be parsed ahead for others.
struct Preamble {
  /// Digest of all that the compiler gets except what follows the preamble, and of whose files it
  /// gets. Builds of one key can share the parsed preamble if its files are still the same. A key
  /// belongs to one user.
  Digest key;
  /// The same with the program's own directory. For programs that read files of this directory:
  /// those that lie elsewhere read others.
  Digest key_in_directory;
  size_t length = 0;  ///< bytes of the source
};

/// Returns none if the program includes nothing, the toolchain's NVRTC has no precompiled headers,
/// or the result is not kept anyway. Returns none as well if the parsed part can show the program's
/// name, or the program its functions' names. The same holds if the output could differ from that
/// without a preamble: OptiX-IR, with -G, and LTO-IR that no nvJitLink could be asked about.
[[nodiscard]] std::optional<Preamble> PreambleOf(const BuildPlan& plan);

/// Returns whether the job makes LTO-IR or OptiX-IR, which name paths anyway, without meaning.
[[nodiscard]] bool MakesIntermediateCode(const CompileJob& job);

/// Returns the options that compile the same program to PTX alone, in place of intermediate code.
/// The PTX is relocatable: like these, it holds the functions that no kernel of its own calls.
[[nodiscard]] std::vector<std::string> OptionsToPtx(std::vector<std::string> options);

/// Returns the job that parses the preamble of this one: that part of its text, under a base name
/// that no program has. It keeps nothing of the request alive.
[[nodiscard]] CompileJob PreambleJob(const CompileJob& job, const Preamble& preamble);

/// Returns the bytes that such a job and the plan's directories hold, besides what is shared.
[[nodiscard]] uint64_t BytesOf(const CompileJob& preamble_job, const BuildPlan& plan);

/// Returns whether the output shows the name under which preambles are parsed. The compiler then
/// put the program's name where no scan of the text foresaw it, and it is the wrong name.
[[nodiscard]] bool ShowsPreamble(const Artifact& artifact);

/// Returns whether the log or a string of the PTX shows a mangled name. The compiler mangles
/// enumerators from a precompiled header if they are template arguments, in warnings and in what
/// __PRETTY_FUNCTION__ gives.
[[nodiscard]] bool ShowsMangledNames(const Artifact& artifact);

/// Returns whether a compile read anything that lies in the program's own directory.
[[nodiscard]] bool ReadsOwnDirectory(const Closure& closure);

/// Returns whether the parsing of a preamble asked for the program itself: it saw another text
/// then.
[[nodiscard]] bool NamesProgram(const Closure& closure, const CompileJob& job);

}  // namespace cccl_cache::daemon
