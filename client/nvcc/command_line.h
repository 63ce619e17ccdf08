// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/standin/command_line.h"
#include "client/standin/fresh_directory.h"

namespace cccl_cache::nvcc {

/// A file that a run of nvcc may write.
struct Output {
  std::string path;  ///< as nvcc gets it
  /// Whether a former file is removed first, as the assembler and the linker do. Otherwise it is
  /// overwritten and keeps its mode.
  bool replaced = false;
};

/// A run of nvcc whose result can be kept.
struct Step {
  std::vector<std::string> sources;  ///< input files that are texts
  std::vector<Output> outputs;       ///< all files that the run may leave behind
  /// The words of the response files, with a NUL behind each.
  std::string read_words;
  bool links_device_code = false;  ///< whether the device code is relocatable
  bool makes_cubin = false;        ///< whether the only output of the compilers is a cubin
};

/// The reason why a run is left to nvcc.
struct Refusal {
  std::string why;
};

/// Parses nvcc's command line, whose first word is the program's name. Reads response files.
/// `front` and `back` are the values of NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS, or empty. Refuses
/// each command line with a word whose meaning is not known, or whose result depends on more than
/// files.
[[nodiscard]] std::variant<Step, Refusal> ReadStep(const standin::Words& words,
                                                   std::string_view front, std::string_view back);

/// Returns whether a text of words, or of parts that another program may get as words, makes the
/// result depend on more than files.
[[nodiscard]] bool DependsOnMore(std::string_view text);

/// Returns whether nvcc compiles nothing with this command line, but answers a question. False if a
/// word before the question is refused. Reads response files.
[[nodiscard]] bool IsQuestion(const standin::Words& words);

/// Returns the fresh directory of the step's source. `working` is the working directory. None if a
/// word other than the source and the output has the name, or if the step makes more than one
/// cubin: other files have names in other forms, such as compressed ones.
[[nodiscard]] std::optional<standin::FreshDirectory> FreshDirectoryOf(const standin::Words& words,
                                                                      const Step& step,
                                                                      const std::string& working);

}  // namespace cccl_cache::nvcc
