// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::standin {

/// Returns whether a module id may contain the number of the process that made it. cudafe++ appends
/// the number if the text defines no function that only one object of a program can define. So two
/// objects of equal texts then have different ids.
[[nodiscard]] bool HasProcessNumber(std::string_view id);

/// Returns whether two objects with this module id can be part of one program as if their ids
/// differed: no name that contains the id is visible to the linker. `code` is host code that
/// cudafe++ wrote. It gives unnamed namespaces a name with the id, so that all that they declare is
/// visible but static functions and variables. To be safe, false for all other declarations.
[[nodiscard]] bool IsLocal(std::string_view id, std::string_view code);

/// Returns whether a file that nvcc compiled may be part of one program together with another copy
/// of itself: no id in its symbols may contain the number of a process. If its device code is
/// `relocatable`, its id must be known.
[[nodiscard]] bool FitsEveryRun(std::string_view file, bool relocatable);

}  // namespace cccl_cache::standin
