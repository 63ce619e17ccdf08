// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/build/build_coordinator.h"
#include "daemon/core/build/flight_table.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/core/run/compile_runner.h"

namespace cccl_cache::daemon {

/// What the output says to the caller whose plan this is: kBuilt or kFailed, the log under the
/// caller's own names.
[[nodiscard]] BuildAnswer AnswerOf(const BuildPlan& plan, const CompileOutput& output);

/// What a landing without an error says to one of those who waited for it.
[[nodiscard]] BuildAnswer AnswerOf(const Waiter& waiter, const Landing& landing);

}  // namespace cccl_cache::daemon
