"""Faults that none of the other lists has, most of them in kernels as the library plans them: with
clusters, waves, epilogues, broadcasts and strides of many GB. Each was written before the emulator
was run on it."""

from planted import (ABI, BARRIERS, DIRECT, FENCES, LOAD, MMA_OPERAND, PIPELINE, REDUCE, SIMT, SM80,
                     SM90, SWIZZLE, TILE, TILE_STORE, ELEMENTWISE, Planted)
from sm90_faults import (ARRIVALS, CLASH, COUNT, DEADLOCK, FLIGHT, LEFT, MISUSE, OUT, RACE, UNSET,
                         WRONG)

FENCE = "missing proxy fence"
UNWRITTEN = "unwritten output"
DEPENDENCY = "missing griddepcontrol.wait"
MAP = "bad descriptor"
GOLDEN = "other PTX"
DIVERGENT = "divergent instruction"

FAULTS = (
    # The ring, clusters and turns of sm90_gemm.
    Planted("empty barrier is awaited at a tile's first stage only", SM90, "cooperative",
            (RACE, ARRIVALS, DEADLOCK),
            "      ring.wait_empty(at);\n      ptx::mbarrier_arrive_expect_tx",
            "      if (step == 0) ring.wait_empty(at);\n      ptx::mbarrier_arrive_expect_tx"),
    Planted("bytes of rows beyond M are not expected", SM90, "cooperative", (COUNT, DEADLOCK),
            "ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());",
            "ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes() - (m + config.tile_m > "
            "p.m ? (m + config.tile_m - p.m) * 128 : 0));"),
    Planted("a stage is released to the diagonal CTA, too", SM90, "lib_square", (ARRIVALS, RACE),
            "const auto sharers = place.sharers_of_a() | place.sharers_of_b();",
            "const u32 sharers = 15u;"),
    Planted("empty barriers count all CTAs of a cluster", SM90, "lib_square", (DEADLOCK,),
            "(config.cluster_m + config.cluster_n - 1)",
            "(config.cluster_m * config.cluster_n)"),
    Planted("producer's columns by the other mode of the cluster", SM90, "lib_tall", (WRONG,),
            "const i32 n = (tile.n * config.cluster_n + static_cast<i32>(place.n)) * config.tile_n;"
            "\n    for (i32 step",
            "const i32 n = (tile.n * config.cluster_m + static_cast<i32>(place.n)) * config.tile_n;"
            "\n    for (i32 step"),
    Planted("clusters step by CTAs of one mode", SM90, "lib_wide", (UNWRITTEN,),
            "ptx::nctaid_x() / config.cluster_size());",
            "ptx::nctaid_x() / config.cluster_m);"),
    Planted("producer skips tiles beyond M", SM90, "cluster", (DEADLOCK, COUNT),
            "    for (i32 step = 0; step < walk.tiles; ++step, at.advance()) {",
            "    if (m >= p.m) continue;\n"
            "    for (i32 step = 0; step < walk.tiles; ++step, at.advance()) {"),
    Planted("drain advances before it waits", SM90, "pair", (DEADLOCK,),
            "    for (int i = 0; i < config.stages; ++i, at.advance())\n      ring.wait_empty(at);",
            "    for (int i = 0; i < config.stages; ++i) {\n      at.advance();\n"
            "      ring.wait_empty(at);\n    }"),
    Planted("drain waits for one tile's stages", SM90, "lib_tall_short", (LEFT,),
            "    for (int i = 0; i < config.stages; ++i, at.advance())\n      ring.wait_empty(at);",
            "    for (int i = 0; i < (walk.tiles < config.stages ? walk.tiles : config.stages); "
            "++i, at.advance())\n      ring.wait_empty(at);"),
    Planted("skipping flips the phase at most once", PIPELINE, "lib_long",
            (RACE, ARRIVALS, DEADLOCK),
            "phase ^= next / stages & 1;",
            "phase ^= next >= stages ? 1 : 0;"),
    Planted("a tile's first stage is not released", SM90, "cooperative", (DEADLOCK,),
            "      ptx::wgmma_wait_group<1>();\n      release<config>(ring, last, place, thread);",
            "      ptx::wgmma_wait_group<1>();\n"
            "      if (k > 1) release<config>(ring, last, place, thread);"),
    Planted("a stage is released where there is no K", SM90, "lib_no_k_cluster",
            (ARRIVALS, LEFT),
            "  if (k_tiles > 0) release<config>(ring, last, place, thread);",
            "  release<config>(ring, last, place, thread);"),
    Planted("maps are fetched where there is no K", SM90, "lib_no_k", (MAP,),
            "    if (p.k > 0) {\n      ptx::prefetch",
            "    if (true) {\n      ptx::prefetch"),
    Planted("only the producer waits for the launch before", SM90, "lib_no_k", (DEPENDENCY,),
            "  ptx::griddepcontrol_wait();\n  // What the launch before",
            "  if (ptx::tid() < 128) ptx::griddepcontrol_wait();\n  // What the launch before"),
    Planted("the first turn needs a tile of one's own", SM90, "lib_one_tile", (DEADLOCK,),
            "  Turns<config, consumer>::begin();\n",
            "  if (!tiles.done()) Turns<config, consumer>::begin();\n"),
    Planted("a turn is passed where the passer has a further tile", SM90, "pingpong", (DEADLOCK,),
            "                                      tiles.more());\n",
            "                                      [&] {\n"
            "                                        TileScheduler after = tiles;\n"
            "                                        after.advance();\n"
            "                                        return after.more();\n"
            "                                      }());\n"),
    Planted("a turn is passed before the products", SM90, "lib_long", (RACE, DEADLOCK, ARRIVALS),
            "    Turns<config, consumer>::wait();\n    constexpr u32 kRowOffset",
            "    Turns<config, consumer>::wait();\n    Turns<config, consumer>::pass(true);\n"
            "    constexpr u32 kRowOffset"),
    Planted("every batch has an A of its own", SM90, "lib_one_a", (WRONG,),
            "p.a_batched ? tile.l : 0", "tile.l"),
    Planted("every batch has a B of its own", SM90, "lib_one_b", (WRONG,),
            "p.b_batched ? tile.l : 0", "tile.l"),
    Planted("idle warps of the producer skip the cluster's barrier", SM90, "cluster",
            (DEADLOCK, DIVERGENT),
            "    ptx::barrier_cluster_arrive_relaxed();\n    ptx::barrier_cluster_wait();\n",
            "    if (ptx::tid() < 32 || ptx::tid() >= 128) {\n"
            "      ptx::barrier_cluster_arrive_relaxed();\n      ptx::barrier_cluster_wait();\n"
            "    }\n"),
    Planted("accumulators are not given to acc_use", SM90, "cooperative", (FLIGHT,),
            "  acc.use();\n  if (k_tiles > 0)", "  if (k_tiles > 0)"),
    Planted("sums of fp8 are never promoted", SM90, "lib_fp8", (WRONG,),
            "    if constexpr (config.promote) {\n      multiply_tile_promoted",
            "    if constexpr (false) {\n      multiply_tile_promoted"),
    Planted("multicast of A to the CTAs of a column", SM90, "lib_square",
            (DEADLOCK, COUNT, RACE, ARRIVALS),
            "mask |= 1u << (m + j * config.cluster_m);",
            "mask |= 1u << (m * config.cluster_n + j);"),
    Planted("second consumer does not await its stores", SM90, "cooperative", (LEFT,),
            "  store.finish();", "  if (consumer == 0) store.finish();"),
    Planted("consumers take the loaders' registers", ABI, "lib_high_input",
            (DEADLOCK, "register pool"),
            "epilogue.loads() ? 224 : 232", "232"),
    # Stores of sm90_gemm.
    Planted("proxy fence on the way of stmatrix alone", TILE_STORE, "bytes", (FENCE,),
            "      ptx::fence_proxy_async();\n",
            "      if constexpr (kBytes == 2) ptx::fence_proxy_async();\n"),
    Planted("staging memory is awaited after the barrier", TILE_STORE, "cooperative", (RACE,),
            "      if (thread_ == 0) ptx::cp_async_bulk_wait_group_read<1>();\n"
            "      ptx::bar_sync<barrier, 128>();\n",
            "      ptx::bar_sync<barrier, 128>();\n"
            "      if (thread_ == 0) ptx::cp_async_bulk_wait_group_read<1>();\n"),
    Planted("narrow rows are swizzled like wide ones", SWIZZLE, "lib_narrow", (WRONG,),
            "(offset >> 7 & (row_bytes / 16 - 1))", "(offset >> 7 & 7)"),
    Planted("bytes of a pair exchanged", TILE_STORE, "lib_e5m2", (WRONG,),
            "return encode<type>(low) | encode<type>(high) << 8;",
            "return encode<type>(high) | encode<type>(low) << 8;"),
    Planted("row's offset of 32 bits", TILE_STORE, "lib_far_direct", (OUT,),
            "out_.address + static_cast<u64>((at.l * out_.batch_stride + m * out_.row_stride) *",
            "out_.address + static_cast<u64>(static_cast<i32>(at.l * out_.batch_stride + m * "
            "out_.row_stride) *"),
    Planted("second row of a fragment checked by the first", TILE_STORE, "direct", (OUT,),
            "if (m >= m_) continue;", "if (m - 8 * h >= m_) continue;"),
    Planted("the elected thread stores, the first one waits", TILE_STORE, "cooperative",
            (RACE, LEFT),
            "      if (thread_ == 0) {\n        ptx::cp_async_bulk_tensor_store",
            "      if (thread_ < 32 && ptx::elect_one()) {\n"
            "        ptx::cp_async_bulk_tensor_store"),
    # Epilogues of sm90_gemm.
    Planted("inputs of the cluster's first rows", SM90, "lib_tall_input", (WRONG,),
            "const i32 m = (tile.m * config.cluster_m + static_cast<i32>(place.m)) * config.tile_m "
            "+ row;",
            "const i32 m = tile.m * config.cluster_m * config.tile_m + row;"),
    Planted("inputs of the second consumer from row 64", SM90, "lib_high_input", (WRONG,),
            "static_cast<i32>(consumer) * config.consumer_rows();",
            "static_cast<i32>(consumer) * 64;"),
    Planted("vectors are released before they are read", TILE, "tile_aux", (RACE, DEADLOCK),
            "layout_.values().wait_full(value_turn_);\n",
            "layout_.values().wait_full(value_turn_);\n"
            "    if constexpr (Layout::kShape.value_bytes > 0) {\n"
            "      if (thread_ == 0) ptx::mbarrier_arrive(layout_.values().empty(0));\n    }\n"),
    Planted("second row of a column 32 bytes on", TILE, "lib_f64_column", (WRONG,),
            "from + 8 * Layout::held_bytes(kSpec.held)", "from + 32"),
    Planted("parts of columns from blocks beyond M", TILE, "lib_low", (OUT, RACE),
            "n < columns_ && at.m < rows_", "n < columns_"),
    Planted("parts of rows from tiles beyond N", TILE, "lib_slim", (RACE, OUT),
            "m < rows_ && at.n < columns_) {\n            leave_part<E, i.value>(to, tile_n",
            "m < rows_) {\n            leave_part<E, i.value>(to, tile_n"),
    Planted("parts of all by whole tiles of a row", TILE, "tile_mixed", (RACE, UNSET),
            "(columns_ + config.tile_n - 1) / config.tile_n;\n    repeat",
            "columns_ / config.tile_n;\n    repeat"),
    Planted("bytes of an input's rows beyond M are not expected", LOAD, "tile", (COUNT,),
            "Layout::kBoxElements * kBytes);\n        ptx::cp_async",
            "(at.m + 64 > rows_ ? rows_ - at.m : 64) * Layout::kColumns * kBytes);\n"
            "        ptx::cp_async"),
    Planted("barriers of boxes lie on those of vectors", LOAD, "tile", (MISUSE,),
            "area + kShape.barriers_offset() + 16", "area + kShape.barriers_offset() + 8"),
    Planted("stores at the barrier of a turn", SM90, "tile", (CLASH,),
            "Fusion<Epilogue>::template consumer<3 + consumer>",
            "Fusion<Epilogue>::template consumer<2>"),
    Planted("an input of all batches has one for each", LOAD, "lib_one_c", (WRONG,),
            "from.mapped == 1 ? at.l : 0", "at.l"),
    Planted("dropout of a transposed output by rows", TILE, "lib_dropout", (WRONG,),
            "return E::kTransposed ? ", "return false ? "),
    Planted("index of an element of 32 bits", DIRECT, "far_index", (WRONG,),
            "(l_ * rows_ + m) * columns_ + n);",
            "static_cast<u32>((l_ * rows_ + m) * columns_ + n));"),
    Planted("an output's first box is not awaited", TILE, "tile", (RACE,),
            "    if (thread_ == 0) ptx::cp_async_bulk_wait_group_read",
            "    if (thread_ == 0 && store_turn_ != 0) ptx::cp_async_bulk_wait_group_read"),
    Planted("parts of columns from warps beyond M are not left", TILE, "lib_ragged", (UNSET,),
            "n < columns_ && at.m < rows_",
            "n < columns_ && at.m + static_cast<i32>(thread_ / 32) * 16 < rows_"),
    # Reductions and the epilogues of the other kernels.
    Planted("a minimum begins with the largest number", REDUCE, "lib_infinite", (WRONG,),
            "0xff800000u : 0x7f800000u", "0xff800000u : 0x7f7fffffu"),
    Planted("second stage steps over results", REDUCE, "tile_mixed", (WRONG, UNSET),
            "const i64 step = static_cast<i64>(ptx::nctaid_x()) * width;",
            "const i64 step = static_cast<i64>(ptx::nctaid_x()) * kFinishThreads;"),
    Planted("lanes beyond M leave before the shuffle", DIRECT, "sm80_mixed", (DEADLOCK, DIVERGENT),
            "        const auto sum = join_lanes<kSpec.reduction, 1, row_lanes>(value);",
            "        if (m >= rows_) return;\n"
            "        const auto sum = join_lanes<kSpec.reduction, 1, row_lanes>(value);"),
    Planted("four columns stored where three are left", DIRECT, "lib_three_left", (OUT,),
            "    if constexpr (kWidth == 4) {\n      if (to.vectors != 0 && n + 4 <= columns_)",
            "    if constexpr (kWidth == 4) {\n      if (to.vectors != 0 && n + 3 <= columns_)"),
    Planted("parts of columns from warps beyond M are not left", SM80, "lib_sm80_ragged", (UNSET,),
            "  tile.end(parts, [n](int) { return n; });",
            "  if (tile_m + static_cast<i32>(place.m) < p.m) "
            "tile.end(parts, [n](int) { return n; });"),
    Planted("parts of all numbered by rows of tiles", SIMT, "lib_simt_all", (UNSET, RACE),
            "(tile_m * p.tiles_n + tile_n) * config.warps() + warp",
            "(tile_m * p.tiles_m + tile_n) * config.warps() + warp"),
    # sm80_gemm, simt_gemm and simt_elementwise.
    Planted("a chunk counts as whole from eight elements on", SM80, "lib_sm80_bytes", (OUT,),
            "elements >= 16 / kBytes", "elements >= 8"),
    Planted("last part of a chunk rounded up", MMA_OPERAND, "sm80_bytes", (OUT, WRONG),
            "left < 0 ? 0 : left < copy_bytes ? left : copy_bytes",
            "left < 0 ? 0 : left < copy_bytes ? (left + 3) / 4 * 4 : copy_bytes"),
    Planted("a stage is entered before the next copy is committed", SM80, "sm80_f64", (RACE,),
            "      if (kAhead && step == 0) copy(k_tile + config.stages - 1);\n"
            "      if (kAhead && step + 1 == kSteps) enter(k_tile + 1);\n",
            "      if (kAhead && step + 1 == kSteps) enter(k_tile + 1);\n"
            "      if (kAhead && step + 1 == kSteps) copy(k_tile + config.stages - 1);\n"),
    Planted("neighbours of f64 exchanged", SM80, "sm80_f64", (WRONG,),
            "Words<4>{first.word[0], first.word[1], second.word[0], second.word[1]});",
            "Words<4>{second.word[0], second.word[1], first.word[0], first.word[1]});"),
    Planted("B is not rounded to tf32", SM80, "sm80_tf32", (WRONG,),
            "      round_operand<config.b>(b[j]);\n", ""),
    Planted("offset in out of 32 bits", SM80, "lib_far_sm80", (RACE, OUT),
            "static_cast<u64>((l * p.out.batch_stride + m * p.out.row_stride + n) * kBytes);",
            "static_cast<u32>((l * p.out.batch_stride + m * p.out.row_stride + n) * kBytes);"),
    Planted("offset of a batch of 32 bits", SM80, "lib_far_batch", (OUT,),
            "static_cast<u64>(l * x.batch_stride * abi::type_bytes(type))",
            "static_cast<u64>(i64{static_cast<i32>(l * x.batch_stride)} * abi::type_bytes(type))"),
    Planted("no barrier before the last tile of K", SM80, "sm80", (RACE,),
            "    ptx::barrier_sync();\n    if (!kAhead) copy",
            "    if (k_tile + 1 < k_tiles) ptx::barrier_sync();\n    if (!kAhead) copy"),
    Planted("bytes of a word of which some are left", SIMT, "simt_bytes", (WRONG,),
            "ptx::ld_global_u8(at) << (8 * (e % 4))", "ptx::ld_global_u8(at) << (8 * (e % 2))"),
    Planted("neighbour of a lone packed element is cleared", ELEMENTWISE, "test_packed", (WRONG,),
            ": ptx::ld_global_u8(address) & 0xf0;", ": 0;"),
    # Wrappers, of which the emulator has twins: their PTX is compared with what it should be.
    Planted("mbarrier_wait tests once", BARRIERS, "test_ptx", (GOLDEN,),
            '      "again:\\n"\n      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n"\n'
            '      "@p bra done;\\n"\n      "bra again;\\n"\n',
            '      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n"\n'
            '      "@p bra done;\\n"\n'),
    Planted("the proxy fence is a plain one", FENCES, "test_ptx", (GOLDEN,),
            "fence.proxy.async.shared::cta;", "fence.acq_rel.cta;"),
    Planted("fence_mbarrier_init is empty", FENCES, "test_ptx", (GOLDEN,),
            "fence.mbarrier_init.release.cluster;", ""),
)

# Changes that are no faults: nothing may be found.
HARMLESS = (
    Planted("K is always walked forwards", SM90, "cooperative", (),
            "return backwards ? tiles - 1 - step : step;", "return step;"),
    Planted("bytes are announced after their loads", SM90, "lib_square", (),
            "      ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());\n"
            "      LoadA::issue(p.a, shared.a(at.stage), barrier, m, k, p.a_batched ? tile.l : 0, "
            "place.n,\n                   place.sharers_of_a());\n",
            "      LoadA::issue(p.a, shared.a(at.stage), barrier, m, k, p.a_batched ? tile.l : 0, "
            "place.n,\n                   place.sharers_of_a());\n"
            "      ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());\n"),
    Planted("stores have read, and may still write, at the end", TILE_STORE, "cooperative", (),
            "ptx::cp_async_bulk_wait_group<0>();", "ptx::cp_async_bulk_wait_group_read<0>();"),
    Planted("no wait for empty groups of copies", SM80, "sm80", (),
            "  ptx::cp_async_wait_all();\n", ""),
)
