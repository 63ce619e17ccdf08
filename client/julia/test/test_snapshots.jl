# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# tests/julia tests that another daemon gets the cache of a package.

@testset "a delta holds what was answered since, hits included, and nothing else" begin
    client, old, new = asking(), unique_kernel(), unique_kernel()
    CcclCache.build(client, old; arch = "sm_90")
    CcclCache.build(client, unique_kernel(); arch = "sm_90")
    point = CcclCache.snapshot()
    @test isempty(CcclCache.delta(point))
    CcclCache.build(client, old; arch = "sm_90")
    CcclCache.build(client, new; arch = "sm_90")
    CcclCache.deposited(() -> "contents", client, NAMESPACE, unique_fields())
    later = CcclCache.snapshot()
    cache = CcclCache.delta(point)
    @test length(cache) == 3
    @test startswith(String(copy(cache.contents[1:8])), "CCCLSNAP")
    @test isempty(CcclCache.delta(later))
end

@testset "builds that the client answers itself are in a delta" begin
    source = unique_kernel()
    CcclCache.build(source; arch = "sm_90")
    point = CcclCache.snapshot()
    @test CcclCache.build(source; arch = "sm_90").tier === :process
    @test length(CcclCache.delta(point)) == 1
end

mutable struct Worlds
    min_world::UInt
    max_world::UInt
end

@testset "code that was replaced since is left out of a delta" begin
    point, valid = CcclCache.snapshot(), Worlds(1, typemax(UInt))
    CcclCache.deposited(() -> "a", asking(), NAMESPACE, unique_fields(); code = valid)
    CcclCache.deposited(() -> "b", asking(), NAMESPACE, unique_fields(); code = (min_world = UInt(1), max_world = typemax(UInt)))
    @test length(CcclCache.delta(point)) == 2
    valid.max_world = UInt(7)
    @test length(CcclCache.delta(point)) == 1
end

@testset "a cache is sent to a daemon once" begin
    client, point = asking(), CcclCache.snapshot()
    CcclCache.build(client, unique_kernel(); arch = "sm_90")
    cache = CcclCache.delta(point)
    @test CcclCache.insert!(cache; client = client) in 0:1
    @test CcclCache.insert!(cache; client = client) == 0
    @test CcclCache.insert!(CcclCache.Cache(0, UInt8[])) == 0
end

@testset "a file that is no snapshot is refused each time, and an inserted one is not sent again" begin
    contents = rand(Random.RandomDevice(), UInt8, 100)
    no_snapshot = CcclCache.Cache(1, contents)
    for _ in 1:2
        @test_logs (:debug, "the cache is away") min_level = Logging.Debug CcclCache.insert!(no_snapshot)
    end
    # Marks the cache as inserted already.
    lease = CcclCache.acquire("io.github.cccl-cached.julia", ["inserted" => CcclCache.SHA.sha256(contents)])
    CcclCache.publish(lease, "1")
    @test_logs min_level = Logging.Debug CcclCache.insert!(no_snapshot)
end
