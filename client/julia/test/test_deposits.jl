# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0

const NAMESPACE = "org.example.test"

unique_fields() = ["source" => string(unique_number()), "sm" => 90, "version" => v"1.2.3", "bytes" => UInt8[0, 255]]

@testset "a deposit of one session is found by the next one" begin
    fields = unique_fields()
    lease = CcclCache.acquire(asking(), NAMESPACE, fields)
    @test lease.contents === nothing
    @test CcclCache.isheld(lease)
    CcclCache.publish(lease, "made here")
    @test !CcclCache.isheld(lease)
    @test lease.contents == b"made here"
    found = CcclCache.acquire(asking(), NAMESPACE, reverse(fields))
    @test found.contents == b"made here"
    @test found.key == lease.key
    @test_throws ArgumentError CcclCache.publish(found, "again")
end

@testset "a lease that is abandoned goes to the next" begin
    fields = unique_fields()
    CcclCache.abandon(CcclCache.acquire(asking(), NAMESPACE, fields))
    @test CcclCache.acquire(asking(), NAMESPACE, fields; timeout = 60).contents === nothing
end

@testset "a lease that is held ends the wait of others with their timeout" begin
    fields = unique_fields()
    held = CcclCache.acquire(asking(), NAMESPACE, fields)
    error = caught(() -> CcclCache.acquire(asking(), NAMESPACE, fields; timeout = 0.05))
    @test error.status === :deadline
    CcclCache.abandon(held)
end

@testset "of many tasks one makes and the others wait for it" begin
    fields, made = unique_fields(), Ref(0)
    contents = asyncmap(1:6) do _
        CcclCache.deposited(asking(), NAMESPACE, fields) do
            made[] += 1
            sleep(0.05)  # the others ask meanwhile
            "made once"
        end
    end
    @test made[] == 1
    @test all(each -> each == b"made once", contents)
end

@testset "an error in what makes goes to the caller, and the next one makes" begin
    fields = unique_fields()
    @test_throws DivideError CcclCache.deposited(() -> div(1, 0), asking(), NAMESPACE, fields)
    @test CcclCache.deposited(() -> "second", asking(), NAMESPACE, fields) == b"second"
end

@testset "without a daemon everything is made" begin
    mktempdir() do directory
        nobody = CcclCache.Client(joinpath(directory, "socket"))
        @test CcclCache.deposited(() -> "made", nobody, NAMESPACE, unique_fields()) == b"made"
    end
end

@testset "code of a finite range of worlds is not deposited" begin
    fields, code = unique_fields(), (min_world = UInt(5), max_world = UInt(9))
    @test CcclCache.deposited(() -> "old", asking(), NAMESPACE, fields; code = code) == b"old"
    @test CcclCache.deposited(() -> "new", asking(), NAMESPACE, fields; code = nothing) == b"new"
    @test CcclCache.deposited(() -> "old", asking(), NAMESPACE, fields; code = code) == b"old"
end

# Returns the Core.CodeInstance that Julia has compiled for these arguments.
function code_of(f, types)
    method = which(f, types)
    signature = Tuple{typeof(f),types...}
    instance = ccall(:jl_specializations_get_linfo, Any, (Any, Any, Any), method, signature, Core.svec())
    return instance.cache
end

@testset "code that is replaced while it is compiled is not deposited" begin
    @eval called(x) = x + 1
    @eval caller(x) = called(x)
    Base.invokelatest(caller, 1)
    code, fields = code_of(caller, (Int,)), unique_fields()
    @test code.max_world == typemax(UInt)
    contents = CcclCache.deposited(asking(), NAMESPACE, fields; code = code) do
        @eval called(x) = x + 2
        "of the old method"
    end
    @test contents == b"of the old method"
    @test code.max_world < typemax(UInt)
    @test CcclCache.deposited(() -> "of the new one", asking(), NAMESPACE, fields) == b"of the new one"
end
