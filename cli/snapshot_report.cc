// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_report.h"

#include "cli/json_writer.h"

namespace cccl_cache::cli {
namespace {

constexpr size_t kShortId = 12;

std::string_view KindName(cccl_cache_snapshot_kind kind) {
  return kind == CCCL_CACHE_SNAPSHOT_DEPOSIT ? "deposit" : "artifact";
}

void AppendLine(const cccl_cache_snapshot_item& item, std::string* text) {
  text->append(View(item.key).substr(0, kShortId)).append("  ").append(KindName(item.kind));
  if (item.kind == CCCL_CACHE_SNAPSHOT_DEPOSIT) {
    text->append("  ").append(View(item.name_space));
  } else {
    text->append("  ").append(item.arch.size == 0 ? "-" : View(item.arch));
    text->append("  ").append(View(item.toolchain_version)).append("  ");
    text->append(View(item.toolchain_id).substr(0, kShortId));
  }
  text->append("  ").append(std::to_string(item.bytes)).append("\n");
}

void WriteItem(const cccl_cache_snapshot_item& item, JsonWriter* json) {
  json->BeginObject();
  json->Key("kind").String(KindName(item.kind));
  json->Key("key").String(View(item.key));
  json->Key("toolchain").BeginObject();
  json->Key("id").String(View(item.toolchain_id));
  json->Key("version").String(View(item.toolchain_version));
  json->EndObject();
  json->Key("arch").String(View(item.arch));
  json->Key("namespace").String(View(item.name_space));
  json->Key("bytes").Integer(static_cast<int64_t>(item.bytes));
  json->Key("stored_bytes").Integer(static_cast<int64_t>(item.stored_bytes));
  json->EndObject();
}

}  // namespace

Expected<std::string> ListText(int fd) {
  std::string text;
  const Expected<Done> listed = ListSnapshot(fd, [&](const cccl_cache_snapshot_item& item) {
    AppendLine(item, &text);
    return true;
  });
  if (!listed.ok()) return listed.error();
  return text;
}

Expected<std::string> ListJson(int fd) {
  JsonWriter json;
  json.BeginObject();
  json.Key("records").BeginArray();
  const Expected<Done> listed = ListSnapshot(fd, [&](const cccl_cache_snapshot_item& item) {
    WriteItem(item, &json);
    return true;
  });
  if (!listed.ok()) return listed.error();
  json.EndArray();
  return json.EndObject().Finish();
}

std::string SummaryText(const cccl_cache_snapshot_summary& summary, std::string_view done,
                        std::string_view left_out) {
  std::string text =
      std::to_string(summary.records) + (summary.records == 1 ? " entry " : " entries ");
  text.append(done).append(", ").append(std::to_string(summary.bytes)).append(" bytes");
  if (summary.left_out > 0) {
    text.append("; ").append(std::to_string(summary.left_out)).append(" ").append(left_out);
  }
  return text.append("\n");
}

std::string SummaryJson(const cccl_cache_snapshot_summary& summary) {
  JsonWriter json;
  json.BeginObject();
  json.Key("records").Integer(static_cast<int64_t>(summary.records));
  json.Key("bytes").Integer(static_cast<int64_t>(summary.bytes));
  json.Key("left_out").Integer(static_cast<int64_t>(summary.left_out));
  json.Key("shared").Boolean(summary.shared != 0);
  return json.EndObject().Finish();
}

}  // namespace cccl_cache::cli
