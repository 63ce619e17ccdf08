// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The fake library's functions for queries, deposits, releases and snapshots.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/unit/cli/fake_library.h"

struct cccl_cache_deposits {};

namespace {

const std::string kVersion = "1.2.3";
const std::string kPlace = "/cuda";

nlohmann::json Statistics() {
  nlohmann::json answer = {{"statistics", nlohmann::json::array()}, {"version", kVersion}};
  for (const FakeStatistic& each : Library().statistics) {
    answer["statistics"].push_back({{"name", each.name},
                                    {"label", each.label},
                                    {"value", each.value},
                                    {"gauge", each.gauge},
                                    {"help", "What it counts."},
                                    {"labels", each.labels}});
  }
  if (!Library().remote_address.empty()) {
    answer["remote"] = {{"address", Library().remote_address},
                        {"problem", Library().remote_problem}};
  }
  return answer;
}

nlohmann::json Toolchains() {
  nlohmann::json answer = {{"toolchains", nlohmann::json::array()},
                           {"rejected", nlohmann::json::array()}};
  for (const FakeToolchain& each : Library().toolchains) {
    nlohmann::json components = nlohmann::json::array();
    for (const auto& [name, version] : each.components) {
      components.push_back({{"name", name}, {"version", version}, {"path", kPlace}});
    }
    answer["toolchains"].push_back({{"id", each.id},
                                    {"version", each.version},
                                    {"root", kPlace},
                                    {"components", components},
                                    {"header_directories", {"/cuda/include"}},
                                    {"accepted_options", {"--pch"}},
                                    {"selected_by_default", each.selected},
                                    {"architectures", each.architectures}});
  }
  for (const auto& [root, reason] : Library().rejected) {
    answer["rejected"].push_back({{"root", root}, {"reason", reason}});
  }
  return answer;
}

nlohmann::json Activity() {
  nlohmann::json answer = {{"slots", 2}, {"running", 1}};
  for (const FakeFlight& each : Library().flights) {
    answer["flights"].push_back({{"key", each.key},
                                 {"kind", each.kind},
                                 {"toolchain", kVersion},
                                 {"state", each.state},
                                 {"waiters", each.waiters},
                                 {"age_ms", 3000},
                                 {"running_ms", 2500},
                                 {"estimate_ms", 4000},
                                 {"program", "sort.cu"},
                                 {"uid", 1000}});
  }
  for (const std::string& each : Library().compile_errors) {
    answer["failures"].push_back(
        {{"time_ms", 1'000'000'000'000}, {"kind", "nvrtc"}, {"uid", 1000}, {"error", each}});
  }
  return answer;
}

template <typename Answer>
cccl_cache_status Ask(const char* function, Answer** answer, cccl_cache_error** error) {
  const cccl_cache_status failure = FakeFailure(function, error);
  if (failure == CCCL_CACHE_OK) *answer = new Answer;
  return failure;
}

cccl_cache_status Summarize(const char* function, cccl_cache_snapshot_summary* summary,
                            cccl_cache_error** error) {
  const cccl_cache_status failure = FakeFailure(function, error);
  if (failure == CCCL_CACHE_OK) *summary = Library().summary;
  return failure;
}

cccl_cache_status WriteSnapshot(const char* function, int fd,
                                const cccl_cache_snapshot_filter* filter,
                                cccl_cache_snapshot_summary* summary, cccl_cache_error** error) {
  Library().all_users = filter->all_users != 0;
  const std::string& bytes = Library().written;
  [[maybe_unused]] const ssize_t written = write(fd, bytes.data(), bytes.size());
  return Summarize(function, summary, error);
}

}  // namespace

std::string FakeAnswer(std::string_view question) {
  const FakeLibrary& library = Library();
  nlohmann::json answer = nlohmann::json::object();
  if (question == "info") {
    answer = {{"version", kVersion},
              {"uid", 7},
              {"limits", {{"lease_seconds", 60}}},
              {"problem", library.problem}};
  }
  if (question == "toolchains") answer = Toolchains();
  if (question == "stats") answer = Statistics();
  if (question == "activity") answer = Activity();
  if (question == "explain") answer = {{"verdict", library.verdict}};
  if (question == "evict") {
    answer = {{"entries", library.evicted}, {"bytes", 2048 * library.evicted}};
  }
  if (question == "verify") {
    answer = {{"entries", library.verified},
              {"bytes", 2048},
              {"broken", library.broken},
              {"unreadable", library.unreadable}};
  }
  return answer.dump(2);
}

cccl_cache_status cccl_cache_list_deposits(cccl_cache_client*, uint32_t,
                                           cccl_cache_deposits** deposits,
                                           cccl_cache_error** error) {
  return Ask("list_deposits", deposits, error);
}
size_t cccl_cache_deposits_count(const cccl_cache_deposits*) { return Library().deposits.size(); }
void cccl_cache_deposits_item(const cccl_cache_deposits*, size_t index,
                              cccl_cache_deposit_info* info) {
  const FakeDeposit& fake = Library().deposits[index];
  info->key = FakeBytes(fake.key);
  info->name_space = FakeBytes(fake.name_space);
  info->is_group = fake.gid ? 1 : 0;
  info->gid = fake.gid.value_or(0);
  info->size = fake.size;
  info->made_at = 1'000'000'000;
  info->used_at = 1'000'000'001;
}
void cccl_cache_deposits_free(cccl_cache_deposits* deposits) { delete deposits; }
cccl_cache_status cccl_cache_remove_deposit(cccl_cache_client*, cccl_cache_bytes key, uint32_t,
                                            int32_t* removed, cccl_cache_error** error) {
  const cccl_cache_status failure = FakeFailure("remove_deposit", error);
  *removed = 0;
  for (const FakeDeposit& deposit : Library().deposits) {
    if (deposit.key == std::string(key.data, key.size)) *removed = 1;
  }
  return failure;
}

cccl_cache_status cccl_cache_add_release(cccl_cache_client*, cccl_cache_bytes path, uint32_t,
                                         int32_t* added, cccl_cache_error** error) {
  Library().inputs.emplace_back(path.data, path.size);
  *added = Library().has_release ? 0 : 1;
  return FakeFailure("add_release", error);
}
cccl_cache_status cccl_cache_find_release(cccl_cache_client*, cccl_cache_bytes, uint32_t,
                                          char version[32], cccl_cache_error** error) {
  *version = '\0';
  return FakeFailure("find_release", error);
}
cccl_cache_status cccl_cache_check_health(cccl_cache_client*, uint32_t, int32_t* serving,
                                          cccl_cache_error** error) {
  *serving = Library().serving ? 1 : 0;
  return FakeFailure("check_health", error);
}
cccl_cache_status cccl_cache_snapshot_create(cccl_cache_client*, int fd,
                                             const cccl_cache_snapshot_filter* filter, uint32_t,
                                             cccl_cache_snapshot_summary* summary,
                                             cccl_cache_error** error) {
  return WriteSnapshot("snapshot_create", fd, filter, summary, error);
}
cccl_cache_status cccl_cache_snapshot_delta(cccl_cache_client*, int, int fd,
                                            const cccl_cache_snapshot_filter* filter, uint32_t,
                                            cccl_cache_snapshot_summary* summary,
                                            cccl_cache_error** error) {
  return WriteSnapshot("snapshot_delta", fd, filter, summary, error);
}
cccl_cache_status cccl_cache_snapshot_insert(cccl_cache_client*, int, uint32_t,
                                             cccl_cache_snapshot_summary* summary,
                                             cccl_cache_error** error) {
  return Summarize("snapshot_insert", summary, error);
}
cccl_cache_status cccl_cache_snapshot_verify(int, cccl_cache_snapshot_summary* summary,
                                             cccl_cache_error** error) {
  return Summarize("snapshot_verify", summary, error);
}
cccl_cache_status cccl_cache_snapshot_list(int, cccl_cache_snapshot_visit visit, void* context,
                                           cccl_cache_error** error) {
  const cccl_cache_status failure = FakeFailure("snapshot_list", error);
  if (failure != CCCL_CACHE_OK) return failure;
  for (const FakeItem& fake : Library().items) {
    cccl_cache_snapshot_item item = {};
    item.struct_size = sizeof(item);
    item.kind = fake.kind;
    item.key = FakeBytes(fake.key);
    item.toolchain_id = FakeBytes(fake.key);
    item.toolchain_version = FakeBytes(kVersion);
    item.arch = FakeBytes(fake.arch);
    item.name_space = FakeBytes(fake.name_space);
    item.stored_bytes = 5;
    item.bytes = 9;
    if (visit(&item, context) != 0) break;
  }
  return CCCL_CACHE_OK;
}
