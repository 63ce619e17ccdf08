// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fake_toolchain {

/// The result codes that the fake NVRTC returns.
enum NvrtcCode {
  kSuccess = 0,
  kOutOfMemory = 1,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kCompilation = 6,
  kNoNamesAfterCompilation = 8,
  kNoNamesBeforeCompilation = 9,
  kNameNotValid = 10,
};

}  // namespace fake_toolchain
