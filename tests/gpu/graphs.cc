// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// graphs [SOCKET]: graphs of cccl_cache/graph.h on this machine's GPU, with kernels that the daemon
// built. Exit status 1 if a number is wrong.
#include <cccl_cache/batch.h>
#include <cccl_cache/client.h>
#include <cccl_cache/driver.h>
#include <cccl_cache/graph.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using cccl_cache::Client;
using cccl_cache::Driver;
using cccl_cache::Expected;
using cccl_cache::LoadedKernels;
using cccl_cache::NvrtcBuild;
using namespace cccl_cache::graph;  // NOLINT: this program is about it

constexpr int kKernels = 100;
int failures = 0;

template <typename T>
T Must(Expected<T> result, const char* what) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
  std::exit(1);
}

void Check(bool right, const char* what) {
  std::printf("%s: %s\n", what, right ? "right" : "WRONG");
  if (!right) ++failures;
}

template <typename T>
bool Refused(const Expected<T>& result, const char* word) {
  return !result.ok() && result.error().message.find(word) != std::string::npos;
}

std::shared_ptr<const LoadedKernels> Loaded(const Driver& driver, Client& client,
                                            const std::string& source) {
  const auto result =
      Must(client.Build(NvrtcBuild{.source = source,
                                   .name = "graphs.cu",
                                   .options = {"-arch=" + Must(cccl_cache::NativeArch(), "arch")}}),
           "build");
  if (!result.compiled()) {
    std::fprintf(stderr, "%s\n", std::string(result.log()).c_str());
    std::exit(1);
  }
  return std::make_shared<LoadedKernels>(Must(LoadedKernels::Load(driver, result), "load"));
}

constexpr char kSource[] = R"(
extern "C" __global__ void add(double* to, double value) { atomicAdd(to, value); }
extern "C" __global__ void multiply(double* to, const double* by) { *to *= *by; }
)";

double* Allocate(const Driver& driver, size_t count) {
  uint64_t address = 0;
  Must(driver.Call("cuMemAlloc_v2", &address, count * sizeof(double)), "allocate");
  return reinterpret_cast<double*>(address);  // NOLINT
}

void Wait(const Driver& driver) { Must(driver.Call("cuCtxSynchronize"), "wait"); }

void Copies(const Driver& driver, const std::shared_ptr<const LoadedKernels>& kernels) {
  double host = 1;
  double back = 0;
  double seen = 0;
  double* device = Allocate(driver, 1);
  auto up = std::make_shared<MemcpyHtoDNode>(device, &host, sizeof(host));
  auto run = std::make_shared<KernelNode>(Launch{.grid = {4, 1, 1}}, kernels, "add",
                                          std::vector<Argument>{device, 2.0}, Nodes{up});
  auto down = std::make_shared<MemcpyDtoHNode>(&back, device, sizeof(back), Nodes{run});
  auto call = std::make_shared<HostNode>([&] { seen = back; }, Nodes{down});
  Graph graph = Must(Graph::Build(driver, {call}), "build the graph");
  Must(graph.Launch(), "launch");
  Wait(driver);
  Check(seen == 9, "copies, four blocks and a host function");
  host = 10;
  Must(graph.Launch(), "launch");
  Wait(driver);
  Check(seen == 18, "what the host's memory holds at the second launch");
  run->args[1] = 100.0;
  Must(graph.Update(), "update");
  Must(graph.Launch(), "launch");
  Wait(driver);
  Check(seen == 410, "another scalar after an update");
  call->deps.push_back(run);
  Check(Refused(graph.Update(), "build a new graph"), "another shape is refused");
  Must(graph.Launch(), "launch");
  graph.Destroy();
  graph.Destroy();
  Check(Refused(graph.Launch(), "destroyed"), "a launch after destroying it twice");
}

void Diamond(const Driver& driver, const std::shared_ptr<const LoadedKernels>& kernels) {
  double* values = Allocate(driver, 2);
  double back = 0;
  auto start = std::make_shared<EmptyNode>();
  auto zeros = std::make_shared<MemsetNode>(values, 2 * sizeof(double), 0, Nodes{start}, 4);
  auto left = std::make_shared<KernelNode>(Launch{}, kernels, "add",
                                           std::vector<Argument>{values, 2.0}, Nodes{zeros});
  auto right = std::make_shared<KernelNode>(Launch{}, kernels, "add",
                                            std::vector<Argument>{values + 1, 3.0}, Nodes{zeros});
  auto joined = std::make_shared<EmptyNode>(Nodes{left, right});
  auto multiply = std::make_shared<KernelNode>(
      Launch{}, kernels, "multiply", std::vector<Argument>{values, values + 1}, Nodes{joined});
  auto copy = std::make_shared<MemcpyNode>(values + 1, values, sizeof(double), Nodes{multiply});
  auto down = std::make_shared<MemcpyDtoHNode>(&back, values + 1, sizeof(double), Nodes{copy});
  Graph graph = Must(Graph::Build(driver, {down}), "build the graph");
  for (int i = 0; i < 2; ++i) Must(graph.Launch(), "launch");
  Wait(driver);
  Check(back == 6, "a diamond with a memset and a join, twice");
}

void Errors(const Driver& driver, const std::shared_ptr<const LoadedKernels>& kernels) {
  double host = 0;
  double* device = Allocate(driver, 1);
  const auto with = [&](std::vector<Argument> args) {
    return Graph::Build(driver,
                        {std::make_shared<KernelNode>(Launch{}, kernels, "add", std::move(args))});
  };
  Check(Refused(with({device, 1.0f}), "argument 1 is 4 bytes"), "a wrong width is refused");
  Check(Refused(with({device}), "takes 2 arguments"), "a missing argument is refused");
  int pageable = 0;
  Must(driver.Call("cuDeviceGetAttribute", &pageable, 88, 0), "ask the device");
  Check(pageable != 0 || Refused(with({&host, 1.0}), "memory of the host"),
        "a host array is refused");
  auto one = std::make_shared<EmptyNode>();
  auto two = std::make_shared<EmptyNode>(Nodes{one});
  one->deps.push_back(two);
  Check(Refused(Graph::Build(driver, {two}), "circle"), "a circle is refused");
  one->deps.clear();
}

/// Builds many kernels in one batch or one after another, launches all in one graph, and prints the
/// time until the graph was built.
void Many(const Driver& driver, Client& client, bool batched) {
  std::vector<std::string> sources;
  const std::string stamp =
      std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 0; i < kKernels; ++i) {
    sources.push_back("extern \"C\" __global__ void add(double* to) { atomicAdd(to, " +
                      std::to_string(i) + ".0); } // " + stamp);
  }
  const auto started = std::chrono::steady_clock::now();
  double* device = Allocate(driver, 1);
  Nodes nodes = {std::make_shared<MemsetNode>(device, sizeof(double))};
  Nodes adds;
  const auto add = [&](std::shared_ptr<const LoadedKernels> kernels) {
    adds.push_back(std::make_shared<KernelNode>(Launch{}, std::move(kernels), "add",
                                                std::vector<Argument>{device}, nodes));
  };
  if (batched) {
    auto batch = Must(cccl_cache::Batch::Open(client), "open a batch");
    const std::string arch = Must(cccl_cache::NativeArch(), "arch");
    for (int i = 0; i < kKernels; ++i) {
      Must(batch.Add(
               NvrtcBuild{.source = sources[i], .name = "graphs.cu", .options = {"-arch=" + arch}},
               i),
           "add");
    }
    while (auto finished = batch.Next()) {
      const auto result = Must(std::move(finished->result), "build");
      add(std::make_shared<LoadedKernels>(Must(LoadedKernels::Load(driver, result), "load")));
    }
  } else {
    for (const std::string& source : sources) add(Loaded(driver, client, source));
  }
  double back = 0;
  Graph graph = Must(
      Graph::Build(driver, {std::make_shared<MemcpyDtoHNode>(&back, device, sizeof(back), adds)}),
      "build the graph");
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  Must(graph.Launch(), "launch");
  Wait(driver);
  std::printf("%d kernels %s: %.0f ms\n", kKernels, batched ? "in one batch" : "one by one",
              took.count());
  Check(back == kKernels * (kKernels - 1) / 2.0, "their sum");
}

/// Makes the context of the first GPU current, as any program that uses CUDA has one.
void MakeContext(const Driver& driver) {
  int device = 0;
  CUctx_st* context = nullptr;
  Must(driver.Call("cuInit", 0u), "initialize the driver");
  Must(driver.Call("cuDeviceGet", &device, 0), "find a GPU");
  Must(driver.Call("cuDevicePrimaryCtxRetain", &context, device), "make a context");
  Must(driver.Call("cuCtxSetCurrent", context), "make the context current");
}

}  // namespace

int main(int argc, char** argv) {
  const Driver driver = Must(Driver::Open(), "open the driver");
  MakeContext(driver);
  Client client = Must(Client::Open(argc > 1 ? argv[1] : ""), "open the client");
  const auto kernels = Loaded(driver, client, kSource);
  Copies(driver, kernels);
  Diamond(driver, kernels);
  Errors(driver, kernels);
  Many(driver, client, false);
  Many(driver, client, true);
  return failures == 0 ? 0 : 1;
}
