// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs one build through the header-only C++ interface, with the arguments and output of
// run_case.c.
#include <cccl_cache/client.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using cccl_cache::BuildResult;
using cccl_cache::Expected;

/// A build of each kind; only one is used.
struct Request {
  cccl_cache::NvrtcBuild nvrtc;
  cccl_cache::LinkBuild link;
  cccl_cache::NvvmBuild nvvm;
  cccl_cache::BuildOptions common;
  std::string next;
  std::deque<std::string> texts;  ///< owns the data that the builds refer to
};

std::string_view Contents(Request& request, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) std::exit(5);
  return request.texts.emplace_back(std::istreambuf_iterator<char>(file),
                                    std::istreambuf_iterator<char>());
}

void Take(Request& request, std::string_view word, const std::string& value) {
  if (word == "source") {
    request.nvrtc.source = Contents(request, value);
  } else if (word == "name") {
    request.nvrtc.name = value;
  } else if (word == "option") {
    request.nvrtc.options.push_back(value);
  } else if (word == "expression") {
    request.nvrtc.name_expressions.push_back(value);
  } else if (word == "directory") {
    request.common.working_directory = value;
  } else if (word == "next") {
    request.next = value;
  } else if (word == "header") {
    request.nvrtc.headers.push_back({request.next, Contents(request, value)});
  } else if (word == "input") {
    request.link.inputs.push_back({CCCL_CACHE_INPUT_LTOIR, request.next, Contents(request, value)});
  } else if (word == "module") {
    request.nvvm.modules.push_back({request.next, Contents(request, value)});
  } else {
    std::exit(2);
  }
}

Expected<BuildResult> Build(cccl_cache::Client& client, std::string_view kind, Request& request) {
  request.nvrtc.append_toolchain_headers = true;
  request.link.options = request.nvvm.options = request.nvrtc.options;
  if (kind == "link") return client.Build(request.link, request.common);
  if (kind == "nvvm") return client.Build(request.nvvm, request.common);
  return client.Build(request.nvrtc, request.common);
}

int Report(const BuildResult& result, cccl_cache::Kind wanted, const char* path) {
  std::printf("%s %s\n", cccl_cache_outcome_name(result.info().outcome),
              std::string(result.key()).c_str());
  if (!result.compiled()) return 1;
  std::ofstream file(path, std::ios::binary);
  file << result.artifact(wanted);
  return file.flush() ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc % 2 == 0) return 2;
  Request request;
  const auto wanted = static_cast<cccl_cache::Kind>(std::atoi(argv[3]));
  request.common.wanted = {wanted};
  for (int i = 5; i + 1 < argc; i += 2) Take(request, argv[i], argv[i + 1]);
  auto client = cccl_cache::Client::Open(argv[1]);
  if (!client) return 3;
  const Expected<BuildResult> result = Build(*client, argv[2], request);
  if (result) return Report(*result, wanted, argv[4]);
  std::printf("%s\n", cccl_cache_status_name(result.error().status));
  return 4;
}
