// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/error_report.h"

namespace cccl_cache::cli {

void WriteError(const Error& error, JsonWriter* json) {
  json->Key("error").BeginObject();
  json->Key("status").String(cccl_cache_status_name(error.status));
  json->Key("message").String(error.message);
  if (error.retry_after_ms > 0) json->Key("retry_ms").Integer(error.retry_after_ms);
  json->EndObject();
}

}  // namespace cccl_cache::cli
