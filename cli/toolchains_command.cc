// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/daemon_answers.h"
#include "cli/driver.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

std::string Text(const ToolchainList& list) {
  constexpr size_t kShownId = 12;
  std::string text = list.toolchains.empty() ? "no toolchain\n" : "";
  for (const Toolchain& each : list.toolchains) {
    std::string line = (each.selected_by_default ? "* " : "  ") + each.version + "  " +
                       each.id.substr(0, kShownId) + "  " + each.root + "  (";
    for (const ToolchainComponent& part : each.components) {
      line += (&part == &each.components.front() ? "" : ", ") + part.name + " " + part.version;
    }
    text += Printable(line) + ")\n";
    if (each.architectures.empty()) continue;
    text += Printable("    --arch " + Joined(each.architectures, ", ")) + "\n";
  }
  for (const auto& [root, reason] : list.rejected) {
    text += Printable("not used: " + root + ": " + reason) + "\n";
  }
  return text;
}

bool IsCompiler(const std::string& name) {
  return name.starts_with("libnvrtc.so.") || name.starts_with("libnvJitLink.so.");
}

/// Returns whether the library is a stand-in of this cache. A stand-in is in a directory beside the
/// auditor (libcccl_cache_audit.so).
bool IsStandIn(const std::filesystem::path& library) {
  std::error_code ignored;
  const std::filesystem::path around = library.parent_path().parent_path();
  return std::filesystem::exists(around / "libcccl_cache_audit.so", ignored);
}

/// The compiler libraries at a path: the path itself, or all that are found in the directory tree
/// below it.
struct Compilers {
  std::vector<std::string> libraries;  ///< real paths of libnvrtc and libnvJitLink, without
                                       ///< duplicates
  size_t stand_ins = 0;                ///< number of stand-ins, which are skipped
  bool searched = false;               ///< whether the path is a directory
};

Compilers CompilersIn(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {.libraries = {path}};
  Compilers all{.searched = true};
  std::vector<std::string>& found = all.libraries;
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator each(path, kSkip, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code ignored;
    if (!IsCompiler(each->path().filename().string())) continue;
    if (IsStandIn(each->path())) {
      ++all.stand_ins;
      continue;
    }
    const std::string real = fs::canonical(each->path(), ignored).string();
    if (!real.empty() && std::ranges::find(found, real) == found.end()) found.push_back(real);
  }
  std::ranges::sort(found);
  return all;
}

/// Returns whether the error means that the library is not from a known release of NVIDIA, or is
/// incomplete.
bool IsForeign(const Error& error) {
  return error.status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND ||
         error.status == CCCL_CACHE_INVALID_REQUEST;
}

/// Adds libraries to the daemon and collects the outcome for each.
class Adding {
 public:
  Adding(Client* client, const CommonOptions& common) : client_(*client), common_(common) {
    json_.Key("libraries").BeginArray();
  }

  void AddAll(const Compilers& found) {
    std::vector<std::pair<std::string, Error>> foreign;
    bool taken = false;
    for (const std::string& library : found.libraries) {
      constexpr std::chrono::minutes kPatience{2};  // reading from a slow disk may take long
      const Expected<bool> added = client_.AddRelease(library, kPatience);
      taken |= added.ok();
      if (added.ok()) {
        json_.BeginObject().Fields("path", library, "added", *added).EndObject();
        text_.append(*added ? "added " : "present ").append(library).append("\n");
      } else if (found.searched && IsForeign(added.error())) {
        foreign.emplace_back(library, added.error());
      } else {
        Refuse(library, added.error());
      }
    }
    // Unknown libraries in a directory are not an error if at least one library there was added.
    for (const auto& [library, error] : foreign) {
      if (taken) {
        PassOver(library, error);
      } else {
        Refuse(library, error);
      }
    }
    stand_ins_ += found.stand_ins;
  }

  /// Prints the outcomes. Returns the exit code.
  int Finish() {
    json_.EndArray();
    if (stand_ins_ > 0) {
      text_.append("passed over ").append(Count(stand_ins_));
      text_.append(" of cccl-cache's own\n");
    }
    const int printed = Print(common_.json ? json_.EndObject().Finish() : text_);
    return exit_code_ == kDone ? printed : exit_code_;
  }

 private:
  void PassOver(const std::string& library, const Error& error) {
    text_.append("passed over ").append(library).append(": ");
    text_.append(error.status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND
                     ? "no release of NVIDIA's that the daemon knows\n"
                     : "not whole, or not yours to read\n");
    Write(library, error);
  }
  void Refuse(const std::string& library, const Error& error) {
    exit_code_ = kRefused;
    Complain(error.message.starts_with(library) ? error.message : library + ": " + error.message);
    Write(library, error);
  }
  void Write(const std::string& library, const Error& error) {
    json_.BeginObject().Key("path").String(library);
    WriteError(error, &json_);
    json_.EndObject();
  }

  Client& client_;
  const CommonOptions& common_;
  JsonWriter json_ = BeginAnswer();
  std::string text_;
  size_t stand_ins_ = 0;
  int exit_code_ = kDone;
};

int Add(const std::vector<std::string>& paths, const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  std::vector<Compilers> all;
  for (const std::string& path : paths) {
    all.push_back(CompilersIn(path));
    if (all.back().libraries.empty()) {
      return FailUsage(path + " holds no libnvrtc.so.N and no libnvJitLink.so.N of NVIDIA's",
                       common);
    }
  }
  Adding adding(&*client, common);
  for (const Compilers& found : all) adding.AddAll(found);
  return adding.Finish();
}

int Run(const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  if (common.json) {
    const Expected<std::string> json = AskToolchainsJson(*client, DriverVersion());
    return json.ok() ? Print(*json) : Fail(json.error(), common);
  }
  const Expected<ToolchainList> toolchains = AskToolchains(*client, DriverVersion());
  return toolchains.ok() ? Print(Text(*toolchains)) : Fail(toolchains.error(), common);
}

}  // namespace

void AddToolchainsCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("toolchains",
                                          "List the daemon's CUDA installations (*: the default "
                                          "here) and their architectures, and those not used");
  command->group("Daemon");
  command->footer("Example: cccl-cache-cli toolchains --json");
  command->require_subcommand(0, 1);
  command->fallthrough();
  command->callback([command, &common, exit_code] {
    if (command->get_subcommands().empty()) *exit_code = Run(common);
  });

  CLI::App* add = command->add_subcommand(
      "add",
      "Give the daemon copies of your NVRTC and nvJitLink, so that it serves programs that load "
      "them; takes what NVIDIA released");
  add->footer("Example: cccl-cache-cli toolchains add ~/venv");
  const auto paths = std::make_shared<std::vector<std::string>>();
  add->add_option("PATH", *paths, "A library, or a directory: a virtual environment, site-packages")
      ->required();
  add->callback([paths, &common, exit_code] { *exit_code = Add(*paths, common); });
}

}  // namespace cccl_cache::cli
