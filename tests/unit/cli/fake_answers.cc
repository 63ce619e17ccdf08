// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The functions of the C interface that ask the daemon about itself, and those about snapshots.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/unit/cli/fake_library.h"

struct cccl_cache_deposits {};
struct cccl_cache_toolchains {};
struct cccl_cache_info {};

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
  return answer.dump();
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

cccl_cache_status cccl_cache_get_toolchains(cccl_cache_client*, uint32_t, uint32_t,
                                            cccl_cache_toolchains** toolchains,
                                            cccl_cache_error** error) {
  return Ask("get_toolchains", toolchains, error);
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
size_t cccl_cache_toolchains_count(const cccl_cache_toolchains*) {
  return Library().toolchains.size();
}
void cccl_cache_toolchains_item(const cccl_cache_toolchains*, size_t index,
                                cccl_cache_toolchain* toolchain) {
  const FakeToolchain& fake = Library().toolchains[index];
  toolchain->id = FakeBytes(fake.id);
  toolchain->version = FakeBytes(fake.version);
  toolchain->root = FakeBytes(kPlace);
  toolchain->selected_by_default = fake.selected ? 1 : 0;
  toolchain->component_count = fake.components.size();
  toolchain->header_directory_count = 1;
  toolchain->accepted_option_count = 1;
  toolchain->architecture_count = fake.architectures.size();
}
void cccl_cache_toolchains_component(const cccl_cache_toolchains*, size_t toolchain, size_t index,
                                     cccl_cache_component* component) {
  const auto& [name, version] = Library().toolchains[toolchain].components[index];
  component->name = FakeBytes(name);
  component->version = FakeBytes(version);
  component->path = FakeBytes(kPlace);
}
cccl_cache_bytes cccl_cache_toolchains_header_directory(const cccl_cache_toolchains*, size_t,
                                                        size_t) {
  static const std::string directory = "/cuda/include";
  return FakeBytes(directory);
}
cccl_cache_bytes cccl_cache_toolchains_accepted_option(const cccl_cache_toolchains*, size_t,
                                                       size_t) {
  static const std::string option = "--pch";
  return FakeBytes(option);
}
cccl_cache_bytes cccl_cache_toolchains_architecture(const cccl_cache_toolchains*, size_t toolchain,
                                                    size_t index) {
  return FakeBytes(Library().toolchains[toolchain].architectures[index]);
}
size_t cccl_cache_toolchains_rejected_count(const cccl_cache_toolchains*) {
  return Library().rejected.size();
}
void cccl_cache_toolchains_rejected(const cccl_cache_toolchains*, size_t index,
                                    cccl_cache_rejected_toolchain* rejected) {
  rejected->root = FakeBytes(Library().rejected[index].first);
  rejected->reason = FakeBytes(Library().rejected[index].second);
}
void cccl_cache_toolchains_free(cccl_cache_toolchains* toolchains) { delete toolchains; }

cccl_cache_status cccl_cache_check_health(cccl_cache_client*, uint32_t, int32_t* serving,
                                          cccl_cache_error** error) {
  *serving = Library().serving ? 1 : 0;
  return FakeFailure("check_health", error);
}
cccl_cache_status cccl_cache_get_info(cccl_cache_client*, uint32_t, cccl_cache_info** info,
                                      cccl_cache_error** error) {
  return Ask("get_info", info, error);
}
void cccl_cache_info_describe(const cccl_cache_info*, cccl_cache_daemon* daemon) {
  daemon->version = FakeBytes(kVersion);
  daemon->uid = 7;
  daemon->lease_seconds = 60;
  daemon->problem = FakeBytes(Library().problem);
}
void cccl_cache_info_free(cccl_cache_info* info) { delete info; }

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
