// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// A minimal C++ program that compiles a kernel through the daemon.
#include <cccl_cache/client.h>

#include <cstdio>

int main() {
  auto client = cccl_cache::Client::Open();  // the user's daemon, else the node's
  if (!client) {
    std::fprintf(stderr, "%s\n", client.error().message.c_str());
    return 1;
  }
  cccl_cache::NvrtcBuild build;
  build.source = "extern \"C\" __global__ void Double(float* x) { x[threadIdx.x] *= 2; }";
  build.name = "double.cu";
  build.options = {"-arch=sm_90"};
  const auto result = client->Build(build);
  if (!result) {  // no daemon, or it refused
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    return 1;
  }
  if (!result->compiled()) {  // the code does not compile: print the compiler's messages
    std::fprintf(stderr, "%s\n", std::string(result->log()).c_str());
    return 1;
  }
  std::printf("%zu bytes of cubin\n", result->artifact(cccl_cache::Kind::kCubin).size());
}
