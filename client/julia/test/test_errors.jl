# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0

caught(call) =
    try
        call()
        nothing
    catch error
        error
    end

# Returns the output of another session with this change to its environment.
function told(code, changes...)
    project = dirname(dirname(pathof(CcclCache)))
    command = `$(Base.julia_cmd()) --startup-file=no --project=$project -e "using CcclCache; $code"`
    return read(addenv_pairs(command, changes...), String)
end

addenv_pairs(command, changes...) = setenv(command, merge(Dict(ENV), Dict(changes...)))

@testset "code that does not compile is an error with the compiler's log" begin
    error = caught(() -> CcclCache.build(asking(), "__global__ void f() { nonsense }"; arch = "sm_90"))
    @test error isa CcclCache.CompileError
    @test occursin("nonsense", error.log)
    @test occursin("nonsense", sprint(showerror, error))
    @test error.result.outcome === :failed
end

@testset "no daemon is an error that says so, or a local compile" begin
    mktempdir() do directory
        nobody = joinpath(directory, "socket")
        error = caught(() -> CcclCache.build(CcclCache.Client(nobody; fallback = :error), unique_kernel(); arch = "sm_90"))
        @test error isa CcclCache.CacheError
        @test error.status === Symbol("no-daemon")
        @test occursin(nobody, error.message)
    end
end

@testset "a refused build is an error with its status" begin
    error = caught(() -> CcclCache.build(asking(), unique_kernel(); arch = "sm_90", toolchain = "99.9"))
    @test error.status === Symbol("toolchain-not-found")
    error = caught(() -> CcclCache.build(asking(), unique_kernel(); arch = "sm_90", options = ["--no-such-option"]))
    @test error isa Union{CcclCache.CacheError,CcclCache.CompileError}
end

@testset "arguments of a wrong kind are refused with what they may be" begin
    for call in (() -> CcclCache.Client(fallback = :sometimes), () -> CcclCache.build("x"; arch = "sm_90", emit = :elf),
                 () -> CcclCache.build("x"; arch = "sm_90", toolchain = 1.5),
                 () -> CcclCache.link([("a", "b", :elf)]; arch = "sm_90"),
                 () -> CcclCache.acquire("test", ["field" => nothing]))
        @test caught(call) isa ArgumentError
    end
    @test occursin(":local", caught(() -> CcclCache.Client(fallback = :sometimes)).msg)
end

@testset "a closed client says that it is closed" begin
    client = asking()
    close(client)
    close(client)
    @test !isopen(client)
    @test caught(() -> CcclCache.build(client, "x"; arch = "sm_90")) isa ArgumentError
    @test occursin("closed", sprint(show, client))
end

@testset "without the library, the package loads and the first call says where it was looked for" begin
    first_call = "try; CcclCache.version(); catch error; showerror(stdout, error); end"
    @test occursin("CCCL_CACHE_LIBRARY is \"/nowhere.so\"", told(first_call, "CCCL_CACHE_LIBRARY" => "/nowhere.so"))
    @test told("print(CcclCache.insert!(CcclCache.Cache(1, UInt8[1])))", "CCCL_CACHE_LIBRARY" => "/nowhere.so") == "0"
end

@testset "versions of package and library agree" begin
    project = read(joinpath(@__DIR__, "..", "Project.toml"), String)
    @test CcclCache.version() == VersionNumber(match(r"^version = \"(.*)\""m, project)[1])
end
