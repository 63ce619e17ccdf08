// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the fake driver. A launch runs the nodes in the order of their dependencies, and then
// returns. Device memory is memory of the process. Find() below has the known kernels; all others
// take no arguments and do nothing.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_driver/fake_driver.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kGraphUpdateFailure = 910;
constexpr int kHost = 1;  // CUmemorytype
constexpr int kUnified = 4;

// Layouts of the driver's CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS and
// CUDA_HOST_NODE_PARAMS.
struct KernelParams {
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void** arguments;
  void** extra;
  void* kernel;
  void* context;
};
struct CopySide {
  size_t x, y, z, lod;
  int type;
  void* host;
  uint64_t device;
  void* array;
  void* reserved;
  size_t pitch, height;
};
struct CopyParams {
  CopySide source;
  CopySide destination;
  size_t width, height, depth;
};
struct MemsetParams {
  uint64_t destination;
  size_t pitch;
  unsigned value;
  unsigned element;
  size_t width, height;
};
struct HostParams {
  void (*function)(void*);
  void* data;
};

using Arguments = std::vector<std::vector<char>>;

template <typename T>
T At(const Arguments& arguments, size_t index) {
  T value;
  std::memcpy(&value, arguments[index].data(), sizeof(T));
  return value;
}

struct KnownKernel {
  std::vector<size_t> widths;
  std::function<void(const Arguments&, unsigned threads)> run;
};

/// add(int* p, int value): every thread adds. multiply(double* p, float value, char times). Both
/// are found by their C names and by the fake compiler's lowered names, _Z3... and _Z8...
const KnownKernel& Find(const std::string& name) {
  static const std::map<std::string, KnownKernel> known = {
      {"add",
       {{8, 4},
        [](const Arguments& given, unsigned threads) {
          *At<int*>(given, 0) += At<int>(given, 1) * static_cast<int>(threads);
        }}},
      {"multiply",
       {{8, 4, 1},
        [](const Arguments& given, unsigned) {
          for (int i = 0; i < At<char>(given, 2); ++i)
            *At<double*>(given, 0) *= At<float>(given, 1);
        }}},
  };
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) {
    return name == each.first || name.find("_Z" + std::to_string(each.first.size())) == 0;
  });
  static const KnownKernel unknown = {{}, [](const Arguments&, unsigned) {}};
  return found == known.end() ? unknown : found->second;
}

struct Node {
  int type = 0;  // CUgraphNodeType
  std::string text;
  std::function<void()> run;
  std::set<Node*> before;
  CopyParams copy = {};  // only for a copy
};

/// An object that its maker owns until a graph takes it over.
struct UserObject {
  std::shared_ptr<void> contents;
  std::shared_ptr<UserObject> itself;
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes;
  std::vector<std::shared_ptr<UserObject>> owned;
};

enum NodeType : int {
  kKernelNode = 0,
  kMemcpyNode = 1,
  kMemsetNode = 2,
  kHostNode = 3,
  kEmptyNode = 5
};

int Add(void** made, void* graph, void* const* before, size_t count, Node node) {
  for (size_t i = 0; i < count; ++i) node.before.insert(static_cast<Node*>(before[i]));
  auto& nodes = static_cast<Graph*>(graph)->nodes;
  nodes.push_back(std::make_shared<Node>(std::move(node)));
  *made = nodes.back().get();
  fake_driver()->calls.push_back("add " + nodes.back()->text);
  return kSuccess;
}

std::string Three(const unsigned* extent) {
  return std::to_string(extent[0]) + "x" + std::to_string(extent[1]) + "x" +
         std::to_string(extent[2]);
}

void* Address(const CopySide& side) {
  return side.type == kHost ? side.host : reinterpret_cast<void*>(side.device);  // NOLINT
}

std::string PlaceOf(const CopySide& side) {
  return side.type == kHost ? "host" : side.type == kUnified ? "unified" : "device";
}

void Fill(const MemsetParams& params) {
  auto* to = reinterpret_cast<char*>(params.destination);  // NOLINT
  for (size_t i = 0; i < params.width; ++i) {
    std::memcpy(to + i * params.element, &params.value, params.element);
  }
}

void Visit(Node* node, std::set<Node*>& done) {
  if (!done.insert(node).second) return;
  for (Node* before : node->before) Visit(before, done);
  if (node->run) node->run();
}

/// Returns the length of a list and, if `into` is not null, its contents. Callers call it once for
/// each.
int Answer(const std::vector<void*>& all, void** into, size_t* count) {
  if (into != nullptr) std::copy_n(all.begin(), std::min(*count, all.size()), into);
  *count = all.size();
  return kSuccess;
}

std::vector<std::pair<Node*, Node*>> Edges(const Graph& graph) {
  std::vector<std::pair<Node*, Node*>> edges;
  for (const auto& node : graph.nodes) {
    for (Node* before : node->before) edges.emplace_back(before, node.get());
  }
  return edges;
}

int Width(const std::string* name, size_t index, size_t* offset, size_t* size) {
  const KnownKernel& kernel = Find(*name);
  if (index >= kernel.widths.size()) return kInvalidValue;
  *offset = 8 * index;
  if (size != nullptr) *size = kernel.widths[index];
  return kSuccess;
}

}  // namespace

extern "C" {

const char* fake_driver_calls() {
  static std::string all;
  all.clear();
  for (const std::string& call : fake_driver()->calls) all += call + "\n";
  return all.c_str();
}

int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* size) {
  return Width(static_cast<std::string*>(function), index, offset, size);
}

int cuKernelGetParamInfo(void* kernel, size_t index, size_t* offset, size_t* size) {
  return Width(static_cast<std::string*>(kernel), index, offset, size);
}

int cuPointerGetAttribute(void* value, int, uint64_t address) {
  if (address == fake_driver()->host_memory) return kInvalidValue;
  *static_cast<unsigned*>(value) = 2;  // CU_MEMORYTYPE_DEVICE
  return kSuccess;
}

int cuGraphCreate(void** graph, unsigned) {
  *graph = new Graph();
  ++fake_driver()->graphs;
  return kSuccess;
}

int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  --fake_driver()->graphs;
  return kSuccess;
}

int cuUserObjectCreate(void** made, void* object, void (*destroy)(void*), unsigned, unsigned) {
  auto owned = std::make_shared<UserObject>();
  owned->contents = std::shared_ptr<void>(object, destroy);
  owned->itself = owned;
  *made = owned.get();
  return kSuccess;
}

int cuUserObjectRelease(void* object, unsigned) {
  const auto last = std::move(static_cast<UserObject*>(object)->itself);
  return kSuccess;
}

int cuGraphRetainUserObject(void* graph, void* object, unsigned, unsigned) {
  // The graph takes over the caller's reference.
  static_cast<Graph*>(graph)->owned.push_back(std::move(static_cast<UserObject*>(object)->itself));
  return kSuccess;
}

int cuGraphReleaseUserObject(void* graph, void* object, unsigned) {
  auto& owned = static_cast<Graph*>(graph)->owned;
  std::erase_if(owned, [&](const auto& each) { return each.get() == object; });
  return kSuccess;
}

int cuGraphAddKernelNode_v2(void** made, void* graph, void* const* before, size_t count,
                            const KernelParams* params) {
  const auto* name = static_cast<const std::string*>(params->kernel != nullptr ? params->kernel
                                                                               : params->function);
  const KnownKernel& kernel = Find(*name);
  Arguments arguments;
  for (size_t i = 0; i < kernel.widths.size(); ++i) {
    const auto* bytes = static_cast<const char*>(params->arguments[i]);
    arguments.emplace_back(bytes, bytes + kernel.widths[i]);
  }
  const unsigned threads = params->grid[0] * params->grid[1] * params->grid[2] * params->block[0] *
                           params->block[1] * params->block[2];
  return Add(made, graph, before, count,
             {kKernelNode,
              "kernel " + *name + " grid " + Three(params->grid) + " block " +
                  Three(params->block) + " shared " + std::to_string(params->shared),
              [=, &kernel] { kernel.run(arguments, threads); },
              {},
              {}});
}

int cuGraphAddMemcpyNode(void** made, void* graph, void* const* before, size_t count,
                         const CopyParams* params, void*) {
  const CopyParams copy = *params;
  return Add(made, graph, before, count,
             {kMemcpyNode,
              "copy " + std::to_string(copy.width) + " " + PlaceOf(copy.source) + " to " +
                  PlaceOf(copy.destination),
              [=] { std::memmove(Address(copy.destination), Address(copy.source), copy.width); },
              {},
              copy});
}

int cuGraphMemcpyNodeGetParams(void* node, CopyParams* params) {
  *params = static_cast<Node*>(node)->copy;
  return kSuccess;
}

int cuGraphAddMemsetNode(void** made, void* graph, void* const* before, size_t count,
                         const MemsetParams* params, void*) {
  return Add(made, graph, before, count,
             {kMemsetNode,
              "memset " + std::to_string(params->width) + " elements of " +
                  std::to_string(params->element),
              [given = *params] { Fill(given); },
              {},
              {}});
}

int cuGraphAddHostNode(void** made, void* graph, void* const* before, size_t count,
                       const HostParams* params) {
  return Add(made, graph, before, count,
             {kHostNode, "host", [given = *params] { given.function(given.data); }, {}, {}});
}

int cuGraphAddEmptyNode(void** made, void* graph, void* const* before, size_t count) {
  return Add(made, graph, before, count, {kEmptyNode, "empty", {}, {}, {}});
}

int cuGraphAddDependencies(void*, void* const* from, void* const* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<Node*>(to[i])->before.insert(static_cast<Node*>(from[i]));
  }
  return kSuccess;
}

int cuGraphAddDependencies_v2(void* graph, void* const* from, void* const* to, const void*,
                              size_t count) {
  return cuGraphAddDependencies(graph, from, to, count);
}

int cuGraphGetNodes(void* graph, void** nodes, size_t* count) {
  std::vector<void*> all;
  for (const auto& node : static_cast<Graph*>(graph)->nodes) all.push_back(node.get());
  return Answer(all, nodes, count);
}

int cuGraphGetEdges_v2(void* graph, void** from, void** to, void*, size_t* count) {
  std::vector<void*> froms;
  std::vector<void*> tos;
  for (const auto& [before, after] : Edges(*static_cast<Graph*>(graph))) {
    froms.push_back(before);
    tos.push_back(after);
  }
  size_t asked = *count;
  Answer(tos, to, &asked);
  return Answer(froms, from, count);
}

int cuGraphNodeGetDependencies_v2(void* node, void** before, void*, size_t* count) {
  const std::set<Node*>& known = static_cast<Node*>(node)->before;
  return Answer({known.begin(), known.end()}, before, count);
}

int cuGraphNodeGetType(void* node, int* type) {
  *type = static_cast<Node*>(node)->type;
  return kSuccess;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  ++fake_driver()->graphs;
  return kSuccess;
}

int cuGraphInstantiateWithParams(void** executable, void* graph, void*) {
  return cuGraphInstantiateWithFlags(executable, graph, 0);
}

int cuGraphExecUpdate_v2(void* executable, void* graph, void*) {
  auto& now = static_cast<Graph*>(executable)->nodes;
  const auto& wanted = static_cast<Graph*>(graph)->nodes;
  if (now.size() != wanted.size()) return kGraphUpdateFailure;
  now = wanted;
  static_cast<Graph*>(executable)->owned = static_cast<Graph*>(graph)->owned;
  fake_driver()->calls.emplace_back("update");
  return kSuccess;
}

int cuGraphLaunch(void* executable, void*) {
  fake_driver()->calls.emplace_back("launch");
  std::set<Node*> done;
  // In reverse order, so that a missing dependency makes the order wrong.
  const auto& nodes = static_cast<Graph*>(executable)->nodes;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) Visit(node->get(), done);
  return kSuccess;
}

int cuGraphExecDestroy(void* executable) { return cuGraphDestroy(executable); }

}  // extern "C"
