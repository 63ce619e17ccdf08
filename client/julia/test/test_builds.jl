# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0

@testset "CUDA C++ is built once and then a hit" begin
    client, source = asking(), unique_kernel()
    built = CcclCache.build(client, source; arch = "sm_90")
    @test built.outcome === :built
    @test built.cubin[1:4] == b"\x7fELF"
    hit = CcclCache.build(client, source; arch = "sm_90")
    @test hit.outcome === :hit
    @test hit.tier in (:memory, :disk)
    @test hit.cubin == built.cubin
    @test hit.key == built.key
    @test hit.ptx === nothing
end

@testset "the default client answers what it was answered" begin
    source = unique_kernel()
    @test CcclCache.build(source; arch = "sm_90").outcome === :built
    @test CcclCache.build(source; arch = "sm_90").tier === :process
end

@testset "options, headers, names and kinds go into a build" begin
    source = """
        #include "factor.h"
        template <typename T> __global__ void scale(T* data) { data[threadIdx.x] *= FACTOR + SUMMAND; }
        """
    result = CcclCache.build(asking(), source; arch = "sm_90", options = ["-DSUMMAND=$(unique_number())", "--std=c++17"],
                             headers = ["factor.h" => "#define FACTOR 2\n"], name_expressions = ["scale<float>"],
                             emit = (:cubin, :ptx), name = "scale.cu", timeout = 120)
    @test startswith(result.lowered_names["scale<float>"], "_Z5scaleIf")
    @test holds(result.ptx, result.lowered_names["scale<float>"])
    @test sort!(collect(keys(result.artifacts))) == [:cubin, :ptx]
end

@testset "headers of the toolchain are found unless they are not wanted" begin
    source = "#include <cuda/std/cstdint>\n" * unique_kernel()
    @test CcclCache.build(asking(), source; arch = "sm_90").cubin !== nothing
    @test_throws CcclCache.CompileError CcclCache.build(asking(), source; arch = "sm_90", toolchain_headers = false)
end

@testset "directories of headers are searched" begin
    mktempdir() do directory
        write(joinpath(directory, "value.h"), "#define VALUE 7\n")
        source = "#include <value.h>\n" * unique_kernel() * "\nstatic_assert(VALUE == 7);"
        @test CcclCache.build(asking(), source; arch = "sm_90", include_dirs = [directory]).outcome === :built
    end
end

@testset "LTO-IR is linked with other inputs" begin
    callee = CcclCache.build(asking(), "extern \"C\" __device__ int g() { return $(unique_number()); }"; arch = "sm_90",
                             emit = :ltoir, options = ["-rdc=true"])
    caller = CcclCache.build(asking(), "extern \"C\" __device__ int g(); extern \"C\" __global__ void f(int* p) { *p = g(); }";
                             arch = "sm_90", emit = :ltoir, options = ["-rdc=true"])
    linked = CcclCache.link(asking(), [callee, ("caller", caller.ltoir, :ltoir)]; arch = "sm_90", options = ["-lto"])
    @test linked.cubin[1:4] == b"\x7fELF"
    @test CcclCache.link(asking(), [callee, ("caller", caller.ltoir)]; arch = "sm_90", options = ["-lto"]).cubin == linked.cubin
    ptx = CcclCache.link(asking(), [callee, caller]; arch = "sm_90", options = ["-lto"], emit = :ptx)
    @test holds(ptx.ptx, ".entry f")
end

const NVVM_IR = """
    target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
    target triple = "nvptx64-nvidia-cuda"
    define void @k(float* %p, float %x) {
      %y = call float @__nv_sinf(float %x)
      store float %y, float* %p
      ret void
    }
    declare float @__nv_sinf(float)
    !nvvm.annotations = !{!0}
    !0 = !{void (float*, float)* @k, !"kernel", i32 1}
    !nvvmir.version = !{!1}
    !1 = !{i32 2, i32 0}
    """

@testset "NVVM IR becomes PTX, with libdevice" begin
    result = CcclCache.nvvm(asking(), [("k", NVVM_IR)]; arch = "compute_90", libdevice = true)
    @test holds(result.ptx, ".entry k")
    @test !holds(result.ptx, "__nv_sinf(")
end

@testset "a toolchain is chosen by major, version or id" begin
    source = unique_kernel()
    first_answer = CcclCache.build(asking(), source; arch = "sm_90")
    version = VersionNumber(first_answer.toolchain_version)
    for toolchain in (Int(version.major), version, first_answer.toolchain_version, first_answer.toolchain_id[1:12])
        @test CcclCache.build(asking(), source; arch = "sm_90", toolchain = toolchain).key == first_answer.key
    end
end

@testset "tasks run while a build is awaited" begin
    ticks, running = Ref(0), Ref(true)
    ticker = @async while running[]
        ticks[] += 1
        yield()
    end
    # The headers take NVRTC a while.
    CcclCache.build(asking(), "#include <cuda/std/complex>\n" * unique_kernel(); arch = "sm_90")
    running[] = false
    wait(ticker)
    @test ticks[] > 1
end

@testset "many tasks build at once with one client" begin
    client = asking()
    sources = [unique_kernel("f$each") for each in 1:8]
    results = asyncmap(source -> CcclCache.build(client, source; arch = "sm_90"), sources)
    @test all(result -> result.outcome === :built, results)
    @test length(unique(result.key for result in results)) == 8
end
