// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// The environment variables that decide the result of a run of nvcc.

namespace cccl_cache::nvcc {

/// Returns the value of a variable of this process, or "" if it is not set.
[[nodiscard]] std::string_view Variable(const char* name);

/// Returns the environment variables that nvcc, its parts or the host compiler read, sorted, each
/// as NAME=VALUE with a NUL behind it. The libraries of this project that `run` loads into programs
/// do not count, and neither does a PWD that is the working directory: programs ask the system for
/// it if there is no PWD.
[[nodiscard]] std::string ReadVariables(const char* const* variables, std::string_view working);

/// Returns whether a program reads no other environment variables than those that ReadVariables()
/// returns. A compiler wrapper may read any.
[[nodiscard]] bool IsKnownProgram(std::string_view real_path);

/// Returns the name of a variable with which the result depends on more than the variables and
/// files. Returns "" if there is none.
[[nodiscard]] std::string UnkeptVariable(const char* const* variables);

/// Returns a part of the text of an nvcc.profile with which the result depends on other variables,
/// or on more than variables and files. Returns "" if there is none.
[[nodiscard]] std::string UnkeptInProfile(std::string_view text);

}  // namespace cccl_cache::nvcc
