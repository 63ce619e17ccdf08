// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tests/support/temporary_directory.h"

/// Makes a shell script in place of cccl-cache-compile, and returns its path. Its standard input is
/// the socket, so it answers with `>&0`.
std::string WriteFakeCompiler(const cccl_cache::daemon::TemporaryDirectory& directory,
                              std::string_view script);

/// Returns commands that read a small request, or the end of a large one. If the script closed a
/// socket with unread bytes, the bytes that it sent would be lost.
std::string ReadRequest();
/// The answers of a script: a local build with the log "told", or an error.
std::string AnswerLocal();
std::string AnswerError(std::string_view name, std::string_view text);
