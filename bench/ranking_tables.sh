#!/usr/bin/env bash
# Measures the ranking's table of this machine's GPU, or goes on with one that was interrupted, and
# compresses it: FILE.jsonl, then FILE.jsonl.gz. With kernels in the cache the problems up to `unaligned`
# take 360 s on an H200, and those of `short` 100 s.
# Usage: ranking_tables.sh FILE.jsonl [ESTOC]
#   FILE.jsonl   such as bench/results/ranking/2026-11-22_h200.jsonl: the date and the GPU
#   ESTOC        the command (build/release/estoc)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ESTOC_TUNED=off
table=${1:?where does the table go, such as 2026-11-22_h200.jsonl?}
estoc=${2:-$root/build/release/estoc}
problems=$root/bench/problems/ranking

# measure NAME OPTION... adds the problems of NAME.txt to the table.
measure() {
  "$estoc" bench "@$problems/$1.txt" --against cublaslt --rounds 5 --table "$table" \
    --provider cuda "${@:2}"
}

measure tensor --filter 'class=sm90_gemm,sm90_fast_gemm align_out=16'
measure random --filter 'class=sm90_gemm,sm90_fast_gemm align_out=16'
measure edges --filter 'class=sm90_gemm,sm90_swapped_gemm,sm90_swapped_fast_gemm align_out=16,1'
measure epilogues --filter 'class=sm90_gemm align_out=16'
measure classes --filter 'align_a=16,2,1 align_b=16,2,1'
measure unaligned
measure thin --filter 'class=sm90_gemm,sm90_fast_gemm,sm90_swapped_gemm align_out=16,1'
measure layers --filter 'class=sm90_gemm,sm90_fast_gemm,sm90_swapped_gemm align_out=16,1'
measure rows --filter 'class=sm90_gemm,sm90_fast_gemm,sm90_swapped_gemm,sm90_swapped_fast_gemm align_out=16,1'
measure fused --filter 'class=sm90_gemm,sm90_fast_gemm,sm90_swapped_gemm,sm90_swapped_fast_gemm align_out=16,1'
measure short --filter 'class=sm90_gemm,sm90_fast_gemm,sm90_swapped_gemm,sm90_swapped_fast_gemm align_out=16,1'
gzip --keep --force --best "$table"
