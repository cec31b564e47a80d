"""Faults planted into kernels of groups by pointers, and into what reads their table."""

from planted import GROUP_TABLE, SIMT_POINTER, SM80_POINTER, Planted

GROUP_MAPS = "sm90/group_maps.cuh"
SM90_POINTERS = "sm90/pointers.cuh"

WRONG = "wrong output"
OUT = "out of bounds"
UNWRITTEN = "unwritten output"
RACE = "race"
PROXY = "missing proxy fence"
UNINITIALISED = "uninitialised memory"

FAULTS = (
    Planted("extents of the group ahead", SIMT_POINTER, "pointers", (OUT, WRONG, UNWRITTEN, RACE),
            "pointed_group(p, l)", "pointed_group(p, l > 0 ? l - 1 : 0)"),
    Planted("a group has the largest rows", GROUP_TABLE, "pointers", (OUT, WRONG, RACE),
            "found.m = detail::extent_inside(turned ? output.word[3] : output.word[2], p.m);",
            "found.m = static_cast<i32>(p.m);"),
    Planted("a group has the largest columns", GROUP_TABLE, "pointers", (OUT, WRONG, RACE),
            "found.n = detail::extent_inside(turned ? output.word[2] : output.word[3], p.n);",
            "found.n = static_cast<i32>(p.n);"),
    Planted("a group sums the largest K", GROUP_TABLE, "pointers", (OUT, WRONG),
            "found.k = detail::extent_inside(others.word[0], p.k);",
            "found.k = static_cast<i32>(p.k);"),
    Planted("leading dimensions of A and B are exchanged", GROUP_TABLE, "pointers", (OUT, WRONG),
            "turned ? others.word[1] : others.word[2], table.b_rows",
            "turned ? others.word[2] : others.word[1], table.b_rows"),
    Planted("rows are taken for columns", GROUP_TABLE, "pointers", (OUT, WRONG, UNWRITTEN),
            "{base + distance, rows != 0 ? leading : 1, rows != 0 ? 1 : leading, 0}",
            "{base + distance, rows == 0 ? leading : 1, rows == 0 ? 1 : leading, 0}"),
    Planted("entries of the first group for all", GROUP_TABLE, "pointers", (OUT, WRONG, UNWRITTEN, RACE),
            "static_cast<u64>(group * table.stride)", "0"),
    Planted("A and B are not exchanged for out^T", GROUP_TABLE, "pointers_mma", (OUT, WRONG),
            "found.a = detail::pointed_matrix(p.a.address, turned ?",
            "found.a = detail::pointed_matrix(p.a.address, false ?"),
    Planted("mma sums the largest K", SM80_POINTER, "pointers_mma", (OUT, WRONG),
            "own.b.address, own.k}", "own.b.address, p.k}"),
    Planted("mma stores the largest rows", SM80_POINTER, "pointers_mma", (OUT, WRONG, RACE),
            "{own.m, own.n}", "{p.m, own.n}"),
    Planted("changed maps are not released", GROUP_MAPS, "pointers_wgmma", (PROXY,),
            "  ptx::fence_proxy_tensormap_release_gpu();\n", ""),
    Planted("maps are released ahead of their last change", GROUP_MAPS, "pointers_wgmma", (PROXY,),
            "  ptx::tensormap_replace_stride<0>(to, static_cast<u64>(bytes));\n"
            "  ptx::fence_proxy_tensormap_release_gpu();\n",
            "  ptx::fence_proxy_tensormap_release_gpu();\n"
            "  ptx::tensormap_replace_stride<0>(to, static_cast<u64>(bytes));\n"),
    Planted("maps are not acquired", SM90_POINTERS, "pointers_wgmma", (PROXY,),
            "step == 0 && item.is_first", "step < 0"),
    Planted("maps are acquired for the first group alone", SM90_POINTERS, "pointers_wgmma", (PROXY,),
            "step == 0 && item.is_first", "step == 0 && item.group == 0"),
    Planted("the map of B is not acquired", SM90_POINTERS, "pointers_wgmma", (PROXY,),
            "      ptx::fence_proxy_tensormap_acquire_gpu(b);\n", ""),
    Planted("the maps of the group ahead", SM90_POINTERS, "pointers_wgmma", (PROXY, WRONG, UNINITIALISED),
            "return p.maps + (static_cast<u64>(group) * 2 + operand)",
            "return p.maps + (static_cast<u64>(group > 0 ? group - 1 : 0) * 2 + operand)"),
    Planted("A is loaded by the map of the first group", SM90_POINTERS, "pointers_wgmma", (WRONG, PROXY),
            "const u64 a = map_address(p, item.group, 0);", "const u64 a = map_address(p, 0, 0);"),
    Planted("maps keep the stride of the largest group", GROUP_MAPS, "pointers_wgmma", (OUT, WRONG),
            "  ptx::tensormap_replace_stride<0>(to, static_cast<u64>(bytes));\n",
            "  static_cast<void>(bytes);\n"),
    Planted("maps keep the largest contiguous extent", GROUP_MAPS, "pointers_wgmma", (OUT, WRONG),
            "  ptx::tensormap_replace_extent<0>(to, static_cast<u32>(change.inner));\n", ""),
    Planted("maps keep where they began", GROUP_MAPS, "pointers_wgmma", (OUT, WRONG),
            "  ptx::tensormap_replace_address(to, change.address);\n", ""),
    Planted("tiles are numbered from the first group of each warp", GROUP_MAPS, "pointers_wgmma",
            (WRONG, UNWRITTEN, OUT),
            "  end += tiles_before<config>(operands, first, lane);\n", ""),
    Planted("a warp numbers the tiles of one group in its place", GROUP_MAPS, "pointers_wgmma",
            (WRONG, UNWRITTEN, OUT, RACE),
            "if (lane >= step) end += others;", "if (lane > step) end += others;"),
    Planted("the first tile of a group is taken for one of the group ahead", SM90_POINTERS, "pointers_wgmma",
            (WRONG, UNWRITTEN, OUT, RACE, PROXY),
            "if (end_of(middle) > next_) {", "if (end_of(middle) >= next_) {"),
    Planted("tiles are counted from the first group", SM90_POINTERS, "pointers_wgmma",
            (WRONG, UNWRITTEN, OUT, RACE),
            "raster.at(next_ - extents.word[3])", "raster.at(next_)"),
    Planted("a consumer passes over as many stages as columns take", SM90_POINTERS, "pointers_wgmma",
            (RACE, WRONG, "deadlock"),
            "group_address(p_, group_) + 24", "group_address(p_, group_) + 20"),
    Planted("rows beyond a group are stored", SM90_POINTERS, "pointers_wgmma", (OUT, WRONG, RACE),
            "if (m >= out.rows || n >= out.columns) continue;", "if (n >= out.columns) continue;"),
    Planted("whole chunks beyond a group's columns", SM90_POINTERS, "pointers_wgmma", (OUT, WRONG, RACE),
            "if (left >= 16 / bytes) {", "if (left > 0) {"),
    Planted("elements of a row beyond a group", SM90_POINTERS, "pointers_wgmma_elements", (OUT, WRONG, RACE),
            "(matrix, out_.rows,", "(matrix, out_.rows + 1,"),
)
