"""Further faults: batches, split batches, other types, dependent launches, alignment, schedules."""

from planted import (
    DIRECT,
    ELEMENTWISE,
    FP8,
    LOAD,
    NUMERIC,
    PIPELINE,
    RASTER,
    REDUCE,
    SIMT,
    SM80,
    SM90_CTA,
    SM90_LOAD,
    SM90_MATH,
    SM90_SKELETON,
    SM90_WORK,
    STAGED_STORE,
    TILE,
    TILE_STORE,
    TILE_WORK,
    Planted,
)

WRONG = "wrong output"
RACE = "race"
DEADLOCK = "deadlock"
COUNT = "transaction count"
ARRIVALS = "too many arrivals"
CLASH = "named barrier clash"
FLIGHT = "accumulators in flight"
UNSET = "uninitialised memory"
OUT = "out of bounds"
LEFT = "asynchronous work left over"
MISUSE = "misused mbarrier"
DEPENDENT = "missing griddepcontrol.wait"

# Of multiply_stage.
PRODUCT = """      ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, config.b_n_major>(
          acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * LayoutA::kStepK) >> 4),
          descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);
"""

FAULTS = (
    # kernels/sm90_gemm.cuh
    Planted("A is that of the first batch", SM90_LOAD, "batched", (WRONG,),
            "tile.m, k.a, p.a_batched ? tile.l : 0,",
            "tile.m, k.a, 0,"),
    Planted("B is that of the next batch", SM90_LOAD, "batched", (WRONG,),
            "n, k.b, p.b_batched ? tile.l : 0",
            "n, k.b, p.b_batched ? tile.l + 1 : 0"),
    Planted("A's part is chosen by the wrong mode", SM90_LOAD, "cluster", (WRONG, RACE, OUT),
            "cta.place.n, cta.place.sharers_of_a()",
            "cta.place.m, cta.place.sharers_of_a()"),
    Planted("stage is filled, then waited for", SM90_SKELETON, "cooperative", (RACE,),
            "      ring.wait_empty(at);\n"
            "      Kernel::Load::fill(p, cta, item, step, at.stage);\n",
            "      Kernel::Load::fill(p, cta, item, step, at.stage);\n"
            "      ring.wait_empty(at);\n"),
    Planted("CTAs of a cluster load the same rows", SM90_LOAD, "cluster", (WRONG,),
            "barrier, tile.m, k.a,",
            "barrier, tile.m - static_cast<i32>(cta.place.m) * config.tile_m, k.a,"),
    Planted("modes of the cluster exchanged", SM90_CTA, "pair", (WRONG, OUT, DEADLOCK, COUNT, RACE),
            "{rank % config.cluster_m, rank / config.cluster_m}",
            "{rank / config.cluster_m, rank % config.cluster_m}"),
    Planted("B is read from the consumer's rows", SM90_MATH, "cooperative",
            (WRONG, RACE, UNSET, OUT),
            "LayoutB::descriptor(cta.shared.b(stage));",
            "LayoutB::descriptor(cta.shared.b(stage) + consumer * kOwnRows);"),
    Planted("wgmma.fence after the products", SM90_MATH, "pingpong", ("missing wgmma.fence",),
            "    ptx::wgmma_fence();\n#pragma unroll\n"
            "    for (int step = 0; step < kSteps; ++step) {\n#pragma unroll\n"
            "      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {\n"
            "        ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, "
            "config.b_n_major>(\n"
            "            acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * "
            "LayoutA::kStepK) >> 4),\n"
            "            descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);\n"
            "      }\n    }\n",
            "#pragma unroll\n    for (int step = 0; step < kSteps; ++step) {\n#pragma unroll\n"
            "      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {\n"
            "        ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, "
            "config.b_n_major>(\n"
            "            acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * "
            "LayoutA::kStepK) >> 4),\n"
            "            descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);\n"
            "      }\n    }\n    ptx::wgmma_fence();\n"),
    Planted("group is committed before its products", SM90_MATH, "cooperative", (FLIGHT, RACE),
            "#pragma unroll\n    for (int step = 0; step < kSteps; ++step) {\n#pragma unroll\n"
            "      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {\n"
            "        ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, "
            "config.b_n_major>(\n"
            "            acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * "
            "LayoutA::kStepK) >> 4),\n"
            "            descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);\n"
            "      }\n    }\n    ptx::wgmma_commit_group();\n",
            "    ptx::wgmma_commit_group();\n#pragma unroll\n"
            "    for (int step = 0; step < kSteps; ++step) {\n#pragma unroll\n"
            "      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {\n"
            "        ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, "
            "config.b_n_major>(\n"
            "            acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * "
            "LayoutA::kStepK) >> 4),\n"
            "            descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);\n"
            "      }\n    }\n"),
    Planted("accumulators are cleared during the first products", SM90_MATH, "large", (FLIGHT,),
            "      if (k > 0) {\n        ptx::wgmma_wait_group<1>();",
            "      if (k == 0) acc.clear();\n      if (k > 0) {\n"
            "        ptx::wgmma_wait_group<1>();"),
    Planted("promoted sums are added twice", SM90_MATH, "promoted", (WRONG,),
            "    acc.add(sums);\n",
            "    acc.add(sums);\n      acc.add(sums);\n"),
    Planted("promoted sums are added before the wait", SM90_MATH, "promoted", (FLIGHT, WRONG),
            "    ptx::wgmma_wait_group<pending>();\n    stage.sums.use();",
            "    stage.sums.use();\n    ptx::wgmma_wait_group<pending>();"),
    Planted("types of A and B exchanged", SM90_MATH, "bytes", (WRONG,),
            "wgmma_mma_async<config.a, config.b, config.a_m_major",
            "wgmma_mma_async<config.b, config.a, config.a_m_major"),
    Planted("producer lets go of its registers at its end", SM90_SKELETON, "cooperative",
            (DEADLOCK,),
            "    if constexpr (kMove) ptx::reg_dec<config.producer_registers()>();\n"
            "    if (ptx::tid() / 32 == 0 && ptx::elect_one()) produce<Kernel>(p, cta);\n",
            "    if (ptx::tid() / 32 == 0 && ptx::elect_one()) produce<Kernel>(p, cta);\n"
            "    if constexpr (kMove) ptx::reg_dec<config.producer_registers()>();\n"),
    Planted("one warp lets go of its registers", SM90_SKELETON, "cooperative",
            ("divergent instruction", DEADLOCK),
            "    if constexpr (kMove) ptx::reg_dec<",
            "    if (ptx::tid() / 32 == 0) ptx::reg_dec<"),
    Planted("does not wait for the launch before", SM90_SKELETON, "cooperative", (DEPENDENT,),
            "  ptx::griddepcontrol_wait();\n",
            ""),
    Planted("stores are not awaited at the end", SM90_SKELETON, "cooperative", (LEFT,),
            "  store.finish();\n",
            ""),
    Planted("turn is passed to itself", SM90_SKELETON, "pingpong", (CLASH, DEADLOCK),
            "ptx::bar_arrive<256>(2 - consumer)",
            "ptx::bar_arrive<256>(1 + consumer)"),
    Planted("staging memory off by 64 bytes", SM90_CTA, "cooperative", ("misaligned",),
            "base + config.staging_offset() +",
            "base + 64 + config.staging_offset() +"),
    Planted("stages off by 64 bytes", SM90_CTA, "direct", ("misaligned",),
            "return base + stage * config.stage_bytes();",
            "return base + 64 + stage * config.stage_bytes();"),
    Planted("barriers lie on the staging memory", SM90_CTA, "cooperative",
            (MISUSE,),
            "return {base + config.barrier_offset()};",
            "return {base + config.staging_offset()};"),
    Planted("barriers past the end of shared memory", SM90_CTA, "pingpong", (OUT,),
            "return {base + config.barrier_offset()};",
            "return {base + config.barrier_offset() + 64};"),
    # tile/pipeline.cuh
    Planted("one stage too many is skipped", PIPELINE, "pingpong",
            (RACE, ARRIVALS, DEADLOCK, WRONG),
            "const u32 next = stage + count;",
            "const u32 next = stage + count + 1;"),
    Planted("empty barriers count one release too many", PIPELINE, "cooperative", (DEADLOCK,),
            "mbarrier_init(empty(stage), releases);",
            "mbarrier_init(empty(stage), releases + 1);"),
    Planted("last stage's barriers are not initialised", PIPELINE, "direct", (MISUSE,),
            "for (u32 stage = 0; stage < stages; ++stage)",
            "for (u32 stage = 0; stage + 1 < stages; ++stage)"),
    # tile/scheduler.cuh
    Planted("tiles are done twice", SM90_WORK, "split", (RACE, WRONG),
            "next_ += step_;",
            "next_ += step_ > 1 ? step_ - 1 : 1;"),
    Planted("first tile is left out", SM90_WORK, "large", (WRONG,),
            "next_(ptx::ctaid_x() / (config.cluster_size() * parts_.count)),",
            "next_(ptx::ctaid_x() / (config.cluster_size() * parts_.count) + 1),"),
    Planted("tiles of the first batch alone", TILE_WORK, "batched", (WRONG, RACE),
            "return {static_cast<i32>(l),",
            "return {0 * static_cast<i32>(l),"),
    Planted("planes of a tile too many", TILE_WORK, "batched", (WRONG, OUT),
            "static_cast<u32>(p.tiles_m * p.tiles_n)",
            "static_cast<u32>(p.tiles_m * p.tiles_n + 1)"),
    # tile/raster.cuh
    Planted("columns of a problem walked along N", RASTER, "along", (WRONG, OUT, RACE),
            "along_n ? TileIndex{column, row} : TileIndex{row, column};",
            "TileIndex{row, column};"),
    Planted("bands as wide as they are high", RASTER, "sm80", (WRONG, OUT, RACE),
            "index / (group * columns);",
            "index / (group * rows);"),
    Planted("rows and columns of a band exchanged", RASTER, "simt_any", (WRONG, OUT),
            "along_n ? TileIndex{column, row} : TileIndex{row, column};",
            "along_n ? TileIndex{row, column} : TileIndex{column, row};"),
    # tile/store.cuh
    Planted("stores to the first batch", TILE_STORE, "batched", (WRONG, RACE),
            "{at.l, at.m, at.n + first}, thread_",
            "{0, at.m, at.n + first}, thread_"),
    Planted("half of a fragment's rows are stored", TILE_STORE, "direct", (WRONG,),
            "for (int h = 0; h < kRows * blocks; ++h) {",
            "for (int h = 0; h < kRows * blocks; h += 2) {"),
    Planted("neighbours exchanged", TILE_STORE, "cooperative", (WRONG,),
            "detail::pack<type>(Fragment::value(block, x + 2 * q),\n"
            "                                           Fragment::value(block, x + 2 * q + 1));",
            "detail::pack<type>(Fragment::value(block, x + 2 * q + 1),\n"
            "                                           Fragment::value(block, x + 2 * q));"),
    Planted("one thread stores, another waits", TILE_STORE, "cooperative", (RACE, LEFT),
            "const {\n    if (thread == 0) ptx::cp_async_bulk_tensor_store",
            "const {\n    if (thread == 32) ptx::cp_async_bulk_tensor_store"),
    # kernels/sm80_gemm.cuh
    Planted("B is that of the first batch", SM80, "sm80", (WRONG,),
            "first(p.b, config.b), p.k}",
            "p.b.address, p.k}"),
    Planted("batches of the other CTAs too", SM80, "sm80_split", (RACE,),
            "l < p.l; l += static_cast<i32>(ptx::nctaid_z()))",
            "l < p.l; ++l)"),
    Planted("half of a word of e5m2", FP8, "sm80_fp8", (WRONG,),
            "(pair & 0xff) << 8 | (pair & 0xff00) << 16",
            "(pair & 0xff) << 8 | (pair & 0xff00) << 8"),
    Planted("second half of a word from its middle", FP8, "sm80_fp8", (WRONG,),
            "word >> (16 * half) & 0xffff",
            "word >> (8 * half) & 0xffff"),
    Planted("signs of A and B exchanged", SM80, "sm80_signs", (WRONG,),
            "ptx::mma_m16n8k32<a_type, b_type>(acc, a, b);",
            "ptx::mma_m16n8k32<b_type, a_type>(acc, a, b);"),
    Planted("one element too many of a chunk", STAGED_STORE, "sm80_bytes", (OUT, RACE, WRONG),
            "if (e >= elements) return;",
            "if (e > elements) return;"),
    Planted("does not wait for the launch before", SM80, "sm80", (DEPENDENT,),
            "  ptx::griddepcontrol_wait();\n",
            ""),
    # kernels/simt_gemm.cuh
    Planted("batches of the other CTAs too", SIMT, "simt_split", (RACE,),
            "l < p.l; l += ptx::nctaid_z())",
            "l < p.l; ++l)"),
    Planted("does not wait for the launch before", SIMT, "simt", (DEPENDENT,),
            "  ptx::griddepcontrol_wait();\n",
            ""),
    # numeric.cuh
    Planted("i8 without its sign", NUMERIC, "simt_bytes", (WRONG,),
            "if constexpr (type == Type::i8) return static_cast<i8>(bits);",
            "if constexpr (type == Type::i8) return static_cast<u8>(bits);"),
    # kernels/simt_elementwise.cuh
    Planted("does not wait for the launch before", ELEMENTWISE, "elementwise", (DEPENDENT,),
            "  ptx::griddepcontrol_wait();\n",
            ""),
    Planted("elements of the next mode a row apart", ELEMENTWISE, "elementwise", (WRONG, OUT),
            "at.tensor[t] += index * inputs.tensor[t].stride[mode];",
            "at.tensor[t] += index * p.a_stride[mode];"),
    # the epilogues
    Planted("barriers of the vectors count two arrivals", LOAD, "tile_aux", (DEADLOCK,),
            "values().init(1, 32);",
            "values().init(2, 32);"),
    Planted("boxes come from the batch before", LOAD, "tile_mixed", (WRONG, OUT),
            "from.tma == abi::TmaMode::batched ? to.l : 0}",
            "0}"),
    Planted("outputs of the first batch", TILE, "tile_mixed", (WRONG, RACE),
            "cp_async_bulk_tensor_store<3>(map, box, {to.n, to.m, to.l});",
            "cp_async_bulk_tensor_store<3>(map, box, {to.n, to.m, 0});"),
    Planted("half of the threads copy all elements", TILE, "tile_unmapped", (WRONG, UNSET, RACE),
            "over_box<Fragment::kThreads>(\n"
            "        thread_,",
            "over_box<Fragment::kThreads / 2>(\n"
            "        thread_,"),
    Planted("one thread sends, another waits", TILE, "tile", (RACE, LEFT),
            "if (thread_ == 0) ptx::cp_async_bulk_commit_group();",
            "if (thread_ == 1) ptx::cp_async_bulk_commit_group();"),
    Planted("sums of lanes in one place", REDUCE, "sm80_mixed", (RACE, WRONG),
            "ptx::smem_base() + ptx::tid() * kSize;",
            "ptx::smem_base() + ptx::tid() % width * kSize;"),
    Planted("second stage does not wait for the first", REDUCE, "simt_mixed", (DEPENDENT,),
            "  ptx::griddepcontrol_wait();\n",
            ""),
    Planted("parts of all batches in one place", REDUCE, "simt_mixed", (RACE, WRONG),
            "((kBatch ? 0 : l * to.parts) + part)",
            "(part)"),
    Planted("every lane leaves the part of a column", DIRECT, "simt_mixed", (RACE,),
            "if (ptx::tid() % 32 < row_lanes && at < columns_)",
            "if (at < columns_)"),
)
