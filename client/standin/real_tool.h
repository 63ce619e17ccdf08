// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/standin/tool.h"
#include "proto/digest.h"

namespace cccl_cache::standin {

/// The exit status and the output of a run of the real tool.
struct Ending {
  int status = 0;  ///< as from waitpid()
  std::string out;
  std::string err;
  bool joined = false;      ///< whether `out` has both outputs, in their order
  uint64_t peak_bytes = 0;  ///< largest resident memory of one of its processes
};

/// Returns whether this process's output and errors go to one file, such as one pipe.
[[nodiscard]] bool OutputsAreOne();

/// Returns whether the path leads to a regular file that this process may execute.
[[nodiscard]] bool IsExecutable(const std::string& path);

/// Returns the paths at which a program of this name may be in `search` (as in PATH), in the order
/// of the search.
[[nodiscard]] std::vector<std::string> Candidates(const std::string& search,
                                                  const std::string& name);

/// Finds a program other than this one in `search` (as in PATH).
[[nodiscard]] std::optional<std::string> FindProgram(const std::string& search,
                                                     const std::string& name);

/// The real program that this stand-in replaces. Immutable.
class RealTool {
 public:
  /// The state of a tool's files: a digest of their paths, sizes, times and other metadata.
  struct Stamp {
    Digest digest;
    bool proves = false;  ///< whether an equal digest proves, also in a later run, equal contents
  };

  /// Finds the real tool. `started` is the path by which the stand-in was started. The tool is the
  /// first of these that exists: the file `started`, if it is another program; the target of the
  /// link "STARTED.real"; the program of the same name in `search` (as in PATH) behind the
  /// stand-in's directory.
  [[nodiscard]] static std::optional<RealTool> Find(const std::string& started,
                                                    const std::string& search);

  /// Returns the file name by which the stand-in was started, such as "ptxas".
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Returns the real tool with the other files that it uses, such as libraries. None if these
  /// files are not known.
  [[nodiscard]] std::optional<RealTool> With(const Tool& tool) const;
  /// Returns the real tool with the programs that it starts.
  [[nodiscard]] RealTool With(const std::vector<std::string>& programs) const;

  /// Returns the same tool, for a tool that finds its parts by the first argument, as nvcc does. If
  /// the tool was found at `started`, it gets the caller's first argument, and otherwise the path
  /// at which it was found, without symlinks being resolved.
  [[nodiscard]] RealTool AsCalled(const std::string& started) const;

  /// Returns the state of the tool's files. None if a file can't be read or is neither an ELF file
  /// nor bitcode: the behaviour of a script, for example, depends on more than its contents.
  [[nodiscard]] std::optional<Stamp> Look() const;
  /// Returns whether the files are still in this state.
  [[nodiscard]] bool IsStill(const Stamp& stamp) const;
  /// Returns the SHA-256 of each file, concatenated. If the files' metadata suffices to detect
  /// changes, the digests are stored in the user's cache, because hashing a tool takes longer than
  /// its shortest runs. None if a file can't be read, or has changed since `stamp`.
  [[nodiscard]] std::optional<std::string> Identify(const Stamp& stamp) const;

  /// Replaces this process by the tool (exec). Returns only if the tool can't be started.
  void Replace(char** arguments) const;
  /// Runs the tool in a child process, forwards its output without delay, and returns it. Signals
  /// that other processes send to this one go to the tool. If this process ends, the tool gets
  /// SIGTERM. With `joined`, both outputs are read from one pipe and go to this process's standard
  /// output. None if the tool can't be started.
  [[nodiscard]] std::optional<Ending> Run(char** arguments, bool joined = false) const;
  /// Runs the tool in the same way with other words, and returns its output without forwarding it.
  [[nodiscard]] std::optional<Ending> Read(Words words) const;

 private:
  RealTool(std::string name, std::string path);

  [[nodiscard]] std::optional<Ending> Start(bool forwards, char** arguments,
                                            bool joined = false) const;

  /// Returns the first argument for the tool: the directory of the tool, in which it finds its
  /// libraries, and the file name of the caller's first argument, which appears in its output.
  [[nodiscard]] std::string FirstWord(const char* given) const;

  bool as_called_ = false;  ///< whether the tool gets the caller's first argument
  std::string name_;
  std::string path_;  ///< path as found; if another stand-in is there, it searches behind this path
  std::string file_;  ///< path with symlinks resolved, unless AsCalled() says otherwise
  std::vector<std::string> files_;  ///< paths of the tool and the files that it uses; some may be
                                    ///< missing, and then are not used
};

}  // namespace cccl_cache::standin
