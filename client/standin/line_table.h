// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::standin {

/// Writes into the line tables of a cubin the present times and sizes of the files that they name.
/// ptxas of CUDA 12.8 to 13.0 writes both, that of 13.5 writes zeros, which remain. Returns the
/// missing files, whose numbers are zeros as well. None if the file is no cubin, if a table is not
/// understood, or if a number has another length than before; the cubin may then be changed in
/// part.
[[nodiscard]] std::optional<std::vector<std::string>> SetTimes(std::string* cubin);

/// Returns whether a PTX gives a time or a size of a file itself, as in `.file 1 "k.cu", 1, 2`.
/// ptxas then writes these numbers, and the present ones would be wrong.
[[nodiscard]] bool GivesTimes(std::string_view ptx);

}  // namespace cccl_cache::standin
