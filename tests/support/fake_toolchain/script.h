// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/support/fake_toolchain/control.h"

namespace fake_toolchain {

/// How a compile ends, before a library translates it into its own result codes.
enum class Ending { kSuccess, kCompileError, kOutOfMemory };

/// The effects that the commands in a text have on a compile.
struct Effects {
  Ending ending = Ending::kSuccess;
  std::string log;
  std::string notes;        ///< answers of commands, which become part of every output
  size_t output_bytes = 0;  ///< the main output is padded to this length
};

/// Runs each command of a text in order (README.md lists them). Some do not return. `control` may
/// be null.
void RunCommands(std::string_view text, Control* control, Effects& effects);

/// Returns a 16-digit hexadecimal hash of the bytes.
std::string Fingerprint(std::string_view bytes);

/// Appends incompressible bytes up to this length.
void Pad(std::string& output, size_t bytes);

}  // namespace fake_toolchain
