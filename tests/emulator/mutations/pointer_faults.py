"""Faults planted into kernels of groups by pointers, and into what reads their table."""

from planted import GROUP_TABLE, SIMT_POINTER, SM80_POINTER, Planted

WRONG = "wrong output"
OUT = "out of bounds"
UNWRITTEN = "unwritten output"
RACE = "race"

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
)
