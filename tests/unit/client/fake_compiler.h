// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tests/support/temporary_directory.h"

/// A shell script in the place of cccl-cache-compile; its standard input is the socket, so it
/// answers with `>&0`. Returns its path.
std::string WriteFakeCompiler(const cccl_cache::daemon::TemporaryDirectory& directory,
                              std::string_view script);

/// Reads a small request, or the end of a large one: closing a socket with unread bytes would
/// discard the bytes sent on it.
std::string ReadRequest();
/// The answers of a script: a local build with "told" as its log, or an error.
std::string AnswerLocal();
std::string AnswerError(std::string_view name, std::string_view text);
