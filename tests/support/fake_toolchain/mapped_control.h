// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/fake_toolchain/control.h"

namespace fake_toolchain {

/// Returns the control memory of the calling library's toolkit, mapped for the life of the process;
/// null if the toolkit has none.
Control* MapControl();

}  // namespace fake_toolchain
