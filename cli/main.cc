// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>

#include "cli/command.h"

namespace {

using cccl_cache::cli::CommonOptions;

void AddCommonOptions(CLI::App* app, CommonOptions* common) {
  app->add_option("--socket", common->socket,
                  "Socket of the daemon (default: $CCCL_CACHE_SOCKET, else "
                  "$XDG_RUNTIME_DIR/cccl-cached/socket if present, else /run/cccl-cached/socket)");
  app->add_flag("--json", common->json, "Print one JSON object");
  app->set_version_flag("--version", cccl_cache_version());
  // So that both may stand behind the command as well.
  app->fallthrough();
  app->require_subcommand(1);
  app->footer(
      "Exit codes: 0 done, 1 the code does not compile, 2 usage, 3 no daemon there, 4 refused, 5 "
      "anything else.\nExample: cccl-cache-cli build kernel.cu --arch sm_90 -o kernel.cubin");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compiles CUDA code through cccl-cached, the compile cache of this machine.",
               "cccl-cache-cli");
  CommonOptions common;
  int exit_code = cccl_cache::cli::kDone;
  AddCommonOptions(&app, &common);
  cccl_cache::cli::AddBuildCommand(&app, common, &exit_code);
  cccl_cache::cli::AddLinkCommand(&app, common, &exit_code);
  cccl_cache::cli::AddNvvmCommand(&app, common, &exit_code);
  cccl_cache::cli::AddStatsCommand(&app, common, &exit_code);
  cccl_cache::cli::AddToolchainsCommand(&app, common, &exit_code);
  cccl_cache::cli::AddHealthCommand(&app, common, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cccl_cache::cli::kDone : cccl_cache::cli::kUsage;
  }
  return exit_code;
}
