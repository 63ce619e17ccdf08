// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cccl_cached_fuzz {

/// Returns the inputs with which fuzzing starts. They are valid encodings, so that a short run gets
/// past the first bytes. Each fuzz target defines its own.
std::vector<std::string> Seeds();

}  // namespace cccl_cached_fuzz
