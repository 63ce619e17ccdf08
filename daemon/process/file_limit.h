// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache::daemon {

/// Raises the number of descriptors that this process may open as far as it is allowed to.
void RaiseFileLimit();

}  // namespace cccl_cache::daemon
