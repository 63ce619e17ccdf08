// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/error_report.h"

namespace cccl_cache::cli {
namespace {

ExitCode ExitCodeOf(cccl_cache_status status) {
  switch (status) {
    case CCCL_CACHE_NO_DAEMON:
      return kNoDaemon;
    case CCCL_CACHE_INVALID_REQUEST:
    case CCCL_CACHE_TOOLCHAIN_NOT_FOUND:
    case CCCL_CACHE_FILES_NEEDED:
    case CCCL_CACHE_DENIED:
    case CCCL_CACHE_OVERLOADED:
    case CCCL_CACHE_TOO_LARGE:
      return kRefused;
    default:
      return kOther;
  }
}

}  // namespace

void Complain(const std::string& message) {
  const std::string line = "cccl-cache-cli: " + message + "\n";
  // Nowhere to say that stderr can't be written to.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

int Fail(const Error& error, const CommonOptions& common) {
  std::string message = error.message;
  if (error.retry_after_ms > 0) {
    message += "; come back in " + std::to_string(error.retry_after_ms) + " ms";
  }
  Complain(message);
  if (common.json) {
    JsonWriter json;
    json.BeginObject();
    WriteError(error, &json);
    Print(json.EndObject().Finish());
  }
  return ExitCodeOf(error.status);
}

int FailUsage(const std::string& message, const CommonOptions& common) {
  Fail(Error{CCCL_CACHE_INVALID_REQUEST, message}, common);
  return kUsage;
}

int Print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      Complain(std::string("can't write to standard output: ") + std::strerror(errno));
      return kOther;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return kDone;
}

}  // namespace cccl_cache::cli
