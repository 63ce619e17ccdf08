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
  /// Digest of the compiler's input up to the preamble's end, and of the user and view of the
  /// files. Builds of one key can share the parsed preamble if its files are still the same.
  Digest key;
  /// The same with the program's own directory, for programs that read files in it.
  Digest key_in_directory;
  size_t length = 0;  ///< bytes of the source
};

/// Returns none if the program includes nothing, the toolchain's NVRTC has no precompiled headers,
/// or the result is not kept. Returns none also if the output could differ from that without a
/// preamble: if the parsed part may show the program's name, or the program its functions' names;
/// for OptiX-IR, with -G, and for LTO-IR without an nvJitLink.
[[nodiscard]] std::optional<Preamble> PreambleOf(const BuildPlan& plan);

/// Returns whether the job makes LTO-IR or OptiX-IR, which name paths anyway, without meaning.
[[nodiscard]] bool MakesIntermediateCode(const CompileJob& job);

/// Returns the options that compile the same program to PTX alone, in place of intermediate code.
/// The PTX is relocatable: like intermediate code, it holds functions that no kernel calls.
[[nodiscard]] std::vector<std::string> OptionsToPtx(std::vector<std::string> options);

/// Returns the job that parses the preamble of this one: that part of its text, under a base name
/// that no program has. It keeps nothing of the request alive.
[[nodiscard]] CompileJob PreambleJob(const CompileJob& job, const Preamble& preamble);

/// Returns the bytes that such a job and the plan's directories hold, besides what is shared.
[[nodiscard]] uint64_t BytesOf(const CompileJob& preamble_job, const BuildPlan& plan);

/// Returns whether the output shows the name under which preambles are parsed. Then the compiler
/// wrote the program's name where the scan of the text did not expect it, and wrote the wrong one.
[[nodiscard]] bool ShowsPreamble(const Artifact& artifact);

/// Returns whether the log or a string of the PTX shows a mangled name. The compiler mangles
/// enumerators from a precompiled header if they are template arguments, in warnings and in what
/// __PRETTY_FUNCTION__ gives.
[[nodiscard]] bool ShowsMangledNames(const Artifact& artifact);

/// Returns whether a compile read anything that lies in the program's own directory.
[[nodiscard]] bool ReadsOwnDirectory(const Closure& closure);

/// Returns whether the parse of a preamble opened the program itself, which had another text then.
[[nodiscard]] bool NamesProgram(const Closure& closure, const CompileJob& job);

}  // namespace cccl_cache::daemon
