// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cccl_cache/driver.h"
#include "cccl_cache/expected.h"

struct CUgraph_st;
struct CUgraphNode_st;

/// The nodes of CUDA graphs. The program may change a node's members: a graph copies them when it
/// is built (cccl_cache/graph.h). The program owns the memory that nodes use.
namespace cccl_cache::graph {

/// The address of memory on a device: a CUdeviceptr, or a pointer from the CUDA runtime.
class DevicePointer {
 public:
  DevicePointer(uint64_t address) : address_(address) {}  // NOLINT: implicit
  DevicePointer(const void* address)                      // NOLINT: implicit
      : address_(reinterpret_cast<uintptr_t>(address)) {}

  [[nodiscard]] uint64_t address() const { return address_; }

 private:
  uint64_t address_;
};

/// One argument of a kernel. It holds the bytes of the value, whose type must be the type of the
/// kernel's parameter.
class Argument {
 public:
  template <typename T>
  requires(std::is_trivially_copyable_v<T> && !std::is_array_v<T>) Argument(const T& value)
      : bytes_(sizeof(T)), pointer_(std::is_pointer_v<T>) {  // NOLINT: implicit
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Returns the address if the argument is a pointer. None: it is another value.
  [[nodiscard]] std::optional<uint64_t> pointer() const {
    if (!pointer_) return std::nullopt;
    uint64_t address = 0;
    std::memcpy(&address, bytes_.data(), sizeof(address));
    return address;
  }

 private:
  std::vector<std::byte> bytes_;
  bool pointer_;
};

/// The driver's graph that is being built, to which nodes are added.
struct Place {
  const Driver& driver;
  CUgraph_st* graph;
  CUctx_st* context;
};

/// A step of a graph. `deps` are the nodes that must end before this node begins. If nodes depend
/// on each other in a circle, they can't be built. They are also never freed, unless the program
/// removes one of the dependencies.
struct Node {
  explicit Node(std::vector<std::shared_ptr<Node>> dependencies) : deps(std::move(dependencies)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  [[nodiscard]] virtual const char* name() const = 0;
  /// Adds a node like this one to the driver's graph, without dependencies.
  [[nodiscard]] virtual Expected<CUgraphNode_st*> AddTo(const Place& place) const = 0;

  std::vector<std::shared_ptr<Node>> deps;
};
using Nodes = std::vector<std::shared_ptr<Node>>;

namespace internal {

// These structs have the layouts of CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS
// and CUDA_HOST_NODE_PARAMS.
struct KernelParams {
  CUfunc_st* function;
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned shared_bytes;
  void** arguments;
  void** extra;
  CUkern_st* kernel;
  CUctx_st* context;
};
enum class MemoryType : int { kHost = 1, kDevice = 2, kUnified = 4 };
struct CopySide {
  std::array<size_t, 4> first = {};  // x, y, z, level of detail
  MemoryType type = MemoryType::kDevice;
  const void* host = nullptr;
  uint64_t device = 0;
  void* array = nullptr;
  void* reserved = nullptr;
  std::array<size_t, 2> extent = {};  // pitch, height
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
  unsigned element_bytes;
  size_t width, height;
};
struct HostParams {
  void (*function)(void*);
  void* data;
};

inline CUgraphNode_st* const* NoDependencies() { return nullptr; }

/// Calls a driver function that adds a node without dependencies, and returns the node.
template <typename... Params>
Expected<CUgraphNode_st*> Add(const Place& place, const char* function, Params... params) {
  CUgraphNode_st* node = nullptr;
  const Expected<Done> done =
      place.driver.Call(function, &node, place.graph, NoDependencies(), size_t{0}, params...);
  if (!done.ok()) return done.error();
  return node;
}

inline CopySide Host(const void* address) { return {{}, MemoryType::kHost, address}; }
inline CopySide Device(DevicePointer pointer, MemoryType type = MemoryType::kDevice) {
  return {{}, type, nullptr, pointer.address()};
}

inline Expected<CUgraphNode_st*> AddCopy(const Place& place, const CopySide& destination,
                                         const CopySide& source, size_t bytes) {
  const CopyParams params = {source, destination, bytes, 1, 1};
  return Add(place, "cuGraphAddMemcpyNode", &params, place.context);
}

inline Error Invalid(std::string message) {
  return {CCCL_CACHE_INVALID_REQUEST, std::move(message)};
}

}  // namespace internal

struct Launch {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  unsigned shared_bytes = 0;
};

/// Launches a kernel of a build. A graph with this node keeps the kernels loaded.
struct KernelNode : Node {
  /// `kernel_name` is a name expression of the build, or the name of an extern "C" kernel.
  KernelNode(Launch config, std::shared_ptr<const LoadedKernels> loaded, std::string kernel_name,
             std::vector<Argument> arguments, Nodes dependencies = {})
      : Node(std::move(dependencies)),
        launch(config),
        kernels(std::move(loaded)),
        kernel(std::move(kernel_name)),
        args(std::move(arguments)) {}

  [[nodiscard]] const char* name() const override { return "KernelNode"; }
  [[nodiscard]] Expected<CUgraphNode_st*> AddTo(const Place& place) const override {
    if (kernels == nullptr) return internal::Invalid("a KernelNode has no kernels");
    const Expected<CUfunc_st*> function = kernels->Function(kernel);
    if (!function.ok()) return function.error();
    Expected<Done> checked = CheckWidths(place.driver, *function);
    if (checked.ok()) checked = CheckPointers(place.driver);
    if (!checked.ok()) return checked.error();
    std::vector<void*> pointers;
    for (const Argument& each : args)
      pointers.push_back(const_cast<std::byte*>(each.bytes().data()));
    const internal::KernelParams params = {
        *function,       launch.grid, launch.block, launch.shared_bytes,
        pointers.data(), nullptr,     nullptr,      nullptr};
    return internal::Add(place, "cuGraphAddKernelNode_v2", &params);
  }

  Launch launch;
  std::shared_ptr<const LoadedKernels> kernels;
  std::string kernel;
  std::vector<Argument> args;

 private:
  /// Checks the number and the sizes of the arguments. Checks nothing with drivers before 12.4,
  /// which can't list the parameters of a kernel.
  [[nodiscard]] Expected<Done> CheckWidths(const Driver& driver, CUfunc_st* function) const {
    if (!driver.Has("cuFuncGetParamInfo")) return Done{};
    size_t offset = 0;
    size_t taken = 0;
    for (size_t bytes = 0; driver.Call("cuFuncGetParamInfo", function, taken, &offset, &bytes).ok();
         ++taken) {
      if (taken >= args.size() || args[taken].bytes().size() == bytes) continue;
      return internal::Invalid(kernel + ": argument " + std::to_string(taken) + " is " +
                               std::to_string(args[taken].bytes().size()) +
                               " bytes wide, and the kernel takes " + std::to_string(bytes) +
                               ": give a value of the parameter's own type");
    }
    if (taken == args.size()) return Done{};
    return internal::Invalid(kernel + " takes " + std::to_string(taken) +
                             " arguments, and the node has " + std::to_string(args.size()));
  }

  /// Checks that no pointer argument points to host memory that the driver does not know, such as
  /// memory from malloc. A kernel can't access such memory, except on devices that can access all
  /// memory of the process.
  [[nodiscard]] Expected<Done> CheckPointers(const Driver& driver) const {
    constexpr int kPageableMemoryAccess = 88;  // CUdevice_attribute
    constexpr int kMemoryType = 2;             // CUpointer_attribute
    int device = 0;
    int all = 0;
    Expected<Done> done = driver.Call("cuCtxGetDevice", &device);
    if (done.ok()) done = driver.Call("cuDeviceGetAttribute", &all, kPageableMemoryAccess, device);
    if (!done.ok() || all != 0) return done;
    for (size_t i = 0; i < args.size(); ++i) {
      const uint64_t address = args[i].pointer().value_or(0);
      unsigned type = 0;
      if (address == 0 || driver.Call("cuPointerGetAttribute", &type, kMemoryType, address).ok())
        continue;
      return internal::Invalid(
          kernel + ": argument " + std::to_string(i) +
          " points to memory of the host, which the kernel can't access: copy it "
          "by a MemcpyHtoDNode before the kernel and by a MemcpyDtoHNode after it");
    }
    return Done{};
  }
};

/// Copies host memory, pinned or not, to the device. It copies the contents that the memory has
/// when the node runs.
struct MemcpyHtoDNode : Node {
  MemcpyHtoDNode(DevicePointer destination, const void* source, size_t size,
                 Nodes dependencies = {})
      : Node(std::move(dependencies)), dst(destination), src(source), bytes(size) {}

  [[nodiscard]] const char* name() const override { return "MemcpyHtoDNode"; }
  [[nodiscard]] Expected<CUgraphNode_st*> AddTo(const Place& place) const override {
    return internal::AddCopy(place, internal::Device(dst), internal::Host(src), bytes);
  }

  DevicePointer dst;
  const void* src;
  size_t bytes;
};

/// Copies device memory to host memory, pinned or not.
struct MemcpyDtoHNode : Node {
  MemcpyDtoHNode(void* destination, DevicePointer source, size_t size, Nodes dependencies = {})
      : Node(std::move(dependencies)), dst(destination), src(source), bytes(size) {}

  [[nodiscard]] const char* name() const override { return "MemcpyDtoHNode"; }
  [[nodiscard]] Expected<CUgraphNode_st*> AddTo(const Place& place) const override {
    return internal::AddCopy(place, internal::Host(dst), internal::Device(src), bytes);
  }

  void* dst;
  DevicePointer src;
  size_t bytes;
};

/// Copies memory between addresses that the driver knows: memory of a device, managed memory, or
/// pinned host memory.
struct MemcpyNode : Node {
  MemcpyNode(DevicePointer destination, DevicePointer source, size_t size, Nodes dependencies = {})
      : Node(std::move(dependencies)), dst(destination), src(source), bytes(size) {}

  [[nodiscard]] const char* name() const override { return "MemcpyNode"; }
  [[nodiscard]] Expected<CUgraphNode_st*> AddTo(const Place& place) const override {
    constexpr auto kUnified = internal::MemoryType::kUnified;
    return internal::AddCopy(place, internal::Device(dst, kUnified),
                             internal::Device(src, kUnified), bytes);
  }

  DevicePointer dst;
  DevicePointer src;
  size_t bytes;
};

/// Fills device memory with copies of a value of 1, 2 or 4 bytes.
struct MemsetNode : Node {
  MemsetNode(DevicePointer destination, size_t size, unsigned element = 0, Nodes dependencies = {},
             unsigned size_of_element = 1)
      : Node(std::move(dependencies)),
        dst(destination),
        bytes(size),
        value(element),
        element_bytes(size_of_element) {}

  [[nodiscard]] const char* name() const override { return "MemsetNode"; }
  [[nodiscard]] Expected<CUgraphNode_st*> AddTo(const Place& place) const override {
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) {
      return internal::Invalid("element_bytes is 1, 2 or 4, not " + std::to_string(element_bytes));
    }
    if (bytes % element_bytes != 0) {
      return internal::Invalid(std::to_string(bytes) + " bytes are no elements of " +
                               std::to_string(element_bytes) + " bytes each");
    }
    if (element_bytes < sizeof(value) && value >> (8 * element_bytes) != 0) {
      return internal::Invalid(std::to_string(value) + " does not fit into an element of " +
                               std::to_string(element_bytes) + " bytes");
    }
    const internal::MemsetParams params = {dst.address(),         0, value, element_bytes,
                                           bytes / element_bytes, 1};
    return internal::Add(place, "cuGraphAddMemsetNode", &params, place.context);
  }

  DevicePointer dst;
  size_t bytes;
  unsigned value;
  unsigned element_bytes;
};

/// Calls a function on a host thread of the driver. The function must not call CUDA and must not
/// throw.
struct HostNode : Node {
  explicit HostNode(std::function<void()> called, Nodes dependencies = {})
      : Node(std::move(dependencies)),
        function(std::make_shared<std::function<void()>>(std::move(called))) {}

  [[nodiscard]] const char* name() const override { return "HostNode"; }
  [[nodiscard]] Expected<CUgraphNode_st*> AddTo(const Place& place) const override {
    const internal::HostParams params = {
        [](void* data) { (*static_cast<std::function<void()>*>(data))(); }, function.get()};
    return internal::Add(place, "cuGraphAddHostNode", &params);
  }

  std::shared_ptr<std::function<void()>> function;
};

/// Does nothing. Other nodes can depend on it instead of on many nodes.
struct EmptyNode : Node {
  explicit EmptyNode(Nodes dependencies = {}) : Node(std::move(dependencies)) {}

  [[nodiscard]] const char* name() const override { return "EmptyNode"; }
  [[nodiscard]] Expected<CUgraphNode_st*> AddTo(const Place& place) const override {
    return internal::Add(place, "cuGraphAddEmptyNode");
  }
};

}  // namespace cccl_cache::graph
