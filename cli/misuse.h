// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace cccl_cache::cli {

/// What is wrong with a command line that `app` did not take, and the way out: names the word that
/// nobody knows and the known one that it resembles.
[[nodiscard]] std::string DescribeMisuse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace cccl_cache::cli
