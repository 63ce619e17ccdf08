// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/environment.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>
#include <vector>

#include "client/nvcc/command_line.h"

namespace cccl_cache::nvcc {
namespace {

/// Variables that nvcc, its parts, the host compiler, a shell or the loader read: names, and
/// beginnings of names (with a '*' at the end) or ends (with a '*' in front). Variables with
/// options of nvcc's profile end in _FLAGS.
constexpr std::string_view kVariables[] = {
    "*_FLAGS",
    "BASH*",
    "BINUTILS_*",
    "CHARSET",
    "CICC*",
    "COLLECT_*",
    "COMPILER_PATH",
    "CPATH",
    "CUDA*",
    "CUDAFE*",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "DEPENDENCIES_OUTPUT",
    "EDG_*",
    "FINALIZER*",
    "GCC_*",
    "GCONV_PATH",
    "GNUTARGET",
    "G++_*",
    "INCLUDES",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LDEMULATION",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LD_RUN_PATH",
    "LIBNVVM*",
    "LIBRARIES",
    "LIBRARY_PATH",
    "LLVM*",
    "LOCPATH",
    "LPATH",
    "MLIR*",
    "NOCOLOR",
    "NVASM*",
    "NVCC*",
    "NVLINK*",
    "NVPTX*",
    "NVVM*",
    "NV_*",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
    "OUTPUT_CHARSET",
    "PATH",
    "PS4",
    "PTXAS*",
    "PWD",
    "SHELLOPTS",
    "SOURCE_DATE_EPOCH",
    "SUNPRO_DEPENDENCIES",
    "SYSTEM_INCLUDES",
    "TEMP",
    "TEMPDIR",
    "TERM_URLS",
    "TMP",
    "TMPDIR",
    "TOP",
    "USR_INCLUDE",
    "_HERE_",
    "_SPACE_",
    "_TARGET_DIR_",
    "_TARGET_SIZE_",
    "DUMP_KNOBS_TO_FILE",
    "AS_SECURE_LOG_FILE",
    "CAN_FINALIZE_DEBUG",
};

/// The variable with the working directory, which shells set.
constexpr std::string_view kWorking = "PWD";
/// Beginning of the name of a variable with a function that bash has exported: BASH_FUNC_name%%.
constexpr std::string_view kFunction = "BASH_FUNC_";
/// Beginning of the file names of this project's libraries in other programs.
constexpr std::string_view kOwnLibrary = "libcccl_cache_";

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool IsRead(std::string_view name) {
  return std::ranges::any_of(kVariables, [name](std::string_view pattern) {
    if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name == pattern;
  });
}

/// Returns the value of LD_PRELOAD or LD_AUDIT without this project's libraries.
std::string WithoutOwnLibraries(std::string_view list) {
  std::string others;
  while (!list.empty()) {
    const std::string_view path = list.substr(0, list.find_first_of(" :"));
    list.remove_prefix(std::min(list.size(), path.size() + 1));
    const bool own = path.substr(path.rfind('/') + 1).starts_with(kOwnLibrary);
    if (!own && !path.empty()) others.append(path).push_back(':');
  }
  return others;
}

/// Returns the name at the front of a text.
std::string_view FrontName(std::string_view text) {
  const auto* const end = std::ranges::find_if_not(
      text, [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
  return {text.begin(), end};
}

/// Returns whether a variable of an nvcc.profile is in the key, or is one that nvcc sets itself,
/// such as _HERE_.
bool IsOfProfile(std::string_view name) {
  return name.starts_with('_') || (IsRead(name) && name != kWorking);
}

}  // namespace

std::string_view Variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

std::string ReadVariables(const char* const* variables, std::string_view working) {
  const std::string own = std::string(kWorking).append("=").append(working);
  std::vector<std::string> read;
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::string_view name = NameOf(variable);
    if (!IsRead(name) || variable == own) continue;
    if (name == "LD_PRELOAD" || name == "LD_AUDIT") {
      const std::string others = WithoutOwnLibraries(variable.substr(name.size() + 1));
      if (!others.empty()) read.push_back(std::string(name).append("=").append(others));
    } else {
      read.emplace_back(variable);
    }
  }
  std::ranges::sort(read);
  std::string text;
  for (const std::string& variable : read) text.append(variable).push_back('\0');
  return text;
}

bool IsKnownProgram(std::string_view real_path) {
  std::string_view name = real_path.substr(real_path.rfind('/') + 1);
  if (name.starts_with("cccl-cache-")) return true;
  // A release may be at the end and a platform in front: x86_64-linux-gnu-g++-12.
  if (const size_t end = name.find_last_not_of("0123456789."); end != std::string_view::npos) {
    if (name[end] == '-') name = name.substr(0, end);
  }
  constexpr std::string_view kPrograms[] = {
      "as",        "bin2c",       "bash",      "cc1",    "cc1plus", "cicc", "collect2", "cudafe++",
      "cuobjdump", "dash",        "fatbinary", "g++",    "gcc",     "ld",   "ld.bfd",   "ld.gold",
      "lto1",      "lto-wrapper", "nvcc",      "nvlink", "ptxas",   "sh"};
  for (const std::string_view program : kPrograms) {
    if (name == program) return true;
  }
  for (const std::string_view program : {"-as", "-g++", "-gcc", "-ld", "-ld.bfd", "-ld.gold"}) {
    if (name.ends_with(program)) return true;
  }
  return false;
}

std::string UnkeptVariable(const char* const* variables) {
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::string_view name = NameOf(variable);
    // nvcc puts the words into the command lines of its parts.
    bool unkept = name.ends_with("_FLAGS") && DependsOnMore(variable.substr(name.size()));
    if (name.starts_with(kFunction)) {
      // If /bin/sh is bash, it runs the function in place of the program.
      const std::string_view function = name.substr(kFunction.size());
      unkept = unkept || IsKnownProgram(function.substr(0, function.find('%')));
    }
    if (unkept) return std::string(name);
  }
  return "";
}

std::string UnkeptInProfile(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
    if (line.empty() || line[0] == '#') continue;
    if (DependsOnMore(line) || !IsOfProfile(FrontName(line))) return std::string(line);
    for (size_t at = line.find('$'); at != std::string_view::npos; at = line.find('$', at + 1)) {
      const std::string_view value = line.substr(at + 1);
      const std::string_view name = value.starts_with('(') ? FrontName(value.substr(1)) : "";
      if (!IsOfProfile(name)) return std::string(line);
    }
  }
  return "";
}

}  // namespace cccl_cache::nvcc
