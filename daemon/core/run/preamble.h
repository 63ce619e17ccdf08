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

/// The part at the beginning of a program that has its #include lines. It can be parsed once and
/// used for several programs.
struct Preamble {
  /// Digest of the compiler's input up to the end of the preamble, of the user, and of the user's
  /// view of the file system. Builds with an equal key can share the parsed preamble if its files
  /// have not changed.
  Digest key;
  /// The same digest, but it also covers the program's own directory. Used for programs that read
  /// files in that directory.
  Digest key_in_directory;
  size_t length = 0;  ///< in bytes of the source
};

/// Returns the preamble of a program. None if the program includes nothing, if the toolchain's
/// NVRTC has no precompiled headers, if the program is in a directory of the toolchain, or if the
/// result is not cached. Also none if a preamble could change the output: if the request uses
/// __BASE_FILE__ or __PRETTY_FUNCTION__; for OptiX-IR; with -G; and for LTO-IR if the toolchain has
/// no nvJitLink.
[[nodiscard]] std::optional<Preamble> PreambleOf(const BuildPlan& plan);

/// Returns whether the job makes LTO-IR or OptiX-IR. These always contain file names, even if the
/// program does not show its paths.
[[nodiscard]] bool MakesIntermediateCode(const CompileJob& job);

/// Returns the options that compile the same program to PTX instead of LTO-IR or OptiX-IR. The PTX
/// is relocatable: like those formats, it contains functions that no kernel calls.
[[nodiscard]] std::vector<std::string> OptionsToPtx(std::vector<std::string> options);

/// Returns the job that parses the preamble of this job. Its program is the text of the preamble,
/// with a base name that no other program has. The result does not keep the request of `job` alive.
[[nodiscard]] CompileJob PreambleJob(const CompileJob& job, const Preamble& preamble);

/// Returns the memory in bytes of a preamble's job and of the plan's directories, without objects
/// that are shared with other builds.
[[nodiscard]] uint64_t BytesOf(const CompileJob& preamble_job, const BuildPlan& plan);

/// Returns whether the output contains the base name under which preambles are parsed. If so, the
/// compiler has written the program's name at a place that the scan of the program did not expect.
/// The output is then wrong.
[[nodiscard]] bool ShowsPreamble(const Artifact& artifact);

/// Returns whether the log or a string constant of the PTX contains a mangled name. If an
/// enumerator from a precompiled header is a template argument, the compiler mangles its name in
/// warnings and in the text of __PRETTY_FUNCTION__. It does not without the precompiled header.
[[nodiscard]] bool ShowsMangledNames(const Artifact& artifact);

/// Returns whether the files of a compile include one in the program's own directory.
[[nodiscard]] bool ReadsOwnDirectory(const Closure& closure);

/// Returns whether the parse of a preamble looked for a file with this program's base name. That
/// may be the program itself, which had another text during the parse.
[[nodiscard]] bool NamesProgram(const Closure& closure, const CompileJob& job);

}  // namespace cccl_cache::daemon
