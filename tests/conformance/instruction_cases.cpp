// The cases of basic.cuh, async.cuh and product.cuh but TMA's boxes and wgmma.
#include "case.h"

#include <conformance/async.cuh>
#include <conformance/basic.cuh>
#include <conformance/product.cuh>

namespace conformance {
namespace {

// The function in parentheses, as text for NVRTC and as the emulator's entry.
#define ESTOC_KERNEL(function) \
#function, [](void** arguments) { function(*static_cast<const Parameters*>(arguments[0])); }

Case kernel(const char* header, const char* expression, estoc::emulator::Entry entry) {
  Case test{};
  test.name = expression;
  test.name.erase(0, 1).pop_back();
  test.unit = test.header = header;
  test.expression = expression;
  test.entry = entry;
  return test;
}

void basic(std::vector<Case>& all) {
  const auto add = [&](const char* expression, estoc::emulator::Entry entry) -> Case& {
    return all.emplace_back(kernel("basic", expression, entry));
  };
  const auto set = [](Case& test, unsigned threads, std::vector<Segment> in, unsigned out) {
    test.threads = threads;
    test.in = std::move(in);
    test.out_bytes = out;
  };
  set(add(ESTOC_KERNEL((global_memory))), 32, {words(160)}, 2048);
  Case& shared = add(ESTOC_KERNEL((shared_memory)));
  set(shared, 32, {words(256)}, 1024);
  shared.shared_bytes = 1024;
  set(add(ESTOC_KERNEL((atomics))), 64, {words(4)}, 128);
  Case& pair = add(ESTOC_KERNEL((hand_over)));
  set(pair, 32, {words(4)}, 128);
  pair.grid = {2, 1, 1};
  Case& barriers = add(ESTOC_KERNEL((named_barriers)));
  set(barriers, 128, {words(128)}, 512);
  barriers.shared_bytes = 512;
  Case& special = add(ESTOC_KERNEL((special_registers)));
  set(special, 64, {words(4)}, 12 * 64 * 32);
  special.grid = {2, 2, 3};
  set(add(ESTOC_KERNEL((registers))), 384, {words(384)}, 4 * 384);
  set(add(ESTOC_KERNEL((exchange))), 32, {words(32)}, 17 * 128);
  set(add(ESTOC_KERNEL((election))), 32, {words(4)}, 128);
  set(add(ESTOC_KERNEL((from_f16))), 256, {words(4)}, 4 * 65536);
  set(add(ESTOC_KERNEL((from_fp8))), 256, {words(4)}, 2048);
  set(add(ESTOC_KERNEL((from_f32))), 512, {{Kind::floats, Type::f32, 1024}}, 8 * 2048);
  set(add(ESTOC_KERNEL((from_f64))), 512, {{Kind::reals, Type::f64, 512}}, 3 * 2048);
  set(add(ESTOC_KERNEL((multiply_add))), 256, {{Kind::reals, Type::f32, 512}}, 9216);
  Case& single = add(ESTOC_KERNEL((functions_f32)));
  set(single, 512, {{Kind::positive, Type::f32, 512}}, 12 * 2048);
  single.judge = Judge::ulps_f32;
  Case& twice = add(ESTOC_KERNEL((functions_f64)));
  set(twice, 512, {{Kind::positive, Type::f32, 512}}, 9 * 4096);
  twice.judge = Judge::ulps_f64;
  set(add(ESTOC_KERNEL((selection))), 256, {{Kind::floats, Type::f32, 512}}, 5120);
}

// Functions that differ by what the CUDA C++ Programming Guide, or PTX, says of the GPU's, and a
// unit of the host's, which are not always rounded correctly either.
void functions(std::vector<Case>& all) {
  const auto add = [&](const char* expression, estoc::emulator::Entry entry, unsigned bytes,
                       double of_gpu, double of_host) {
    Case& test = all.emplace_back(kernel("basic", expression, entry));
    test.threads = 512;
    test.in = {{Kind::positive, Type::f32, 512}, {Kind::reals, Type::f32, 512}};
    test.out_bytes = 512 * bytes;
    test.judge = bytes == 4 ? Judge::ulps_f32 : Judge::ulps_f64;
    test.ulps = of_gpu + of_host;
  };
  add(ESTOC_KERNEL((approximate<0>)), 4, 2, 1);
  add(ESTOC_KERNEL((approximate<1>)), 4, 1, 0);
  add(ESTOC_KERNEL((approximate<2>)), 4, 1, 0);
  add(ESTOC_KERNEL((elementary<0, float>)), 4, 2, 1);
  add(ESTOC_KERNEL((elementary<1, float>)), 4, 1, 1);
  add(ESTOC_KERNEL((elementary<2, float>)), 4, 1, 1);
  add(ESTOC_KERNEL((elementary<3, float>)), 4, 4, 1);
  add(ESTOC_KERNEL((elementary<0, double>)), 8, 1, 1);
  add(ESTOC_KERNEL((elementary<1, double>)), 8, 1, 1);
  add(ESTOC_KERNEL((elementary<2, double>)), 8, 1, 1);
  add(ESTOC_KERNEL((elementary<3, double>)), 8, 2, 1);
}

void async(std::vector<Case>& all) {
  const auto add = [&](const char* expression, estoc::emulator::Entry entry, unsigned threads,
                       unsigned shared, unsigned in, unsigned out) -> Case& {
    Case& test = all.emplace_back(kernel("async", expression, entry));
    test.threads = threads;
    test.shared_bytes = shared;
    test.in = {words(in)};
    test.out_bytes = out;
    return test;
  };
  add(ESTOC_KERNEL((copies)), 32, 1408, 128, 1920);
  add(ESTOC_KERNEL((copies_to_barrier)), 128, 1032, 256, 1024);
  add(ESTOC_KERNEL((bulk_copies)), 32, 2064, 512, 1408);
  add(ESTOC_KERNEL((global_proxy)), 32, 1032, 32, 256);
  Case& places = add(ESTOC_KERNEL((cluster_places)), 32, 0, 4, 128);
  places.grid = {4, 1, 1};
  places.cluster = {2, 1, 1};
  Case& square = add(ESTOC_KERNEL((cluster_places)), 32, 0, 4, 128);
  square.name += " 2 x 2";
  square.grid = square.cluster = {2, 2, 1};
  Case& distributed = add(ESTOC_KERNEL((distributed_memory)), 32, 1040, 512, 8192);
  distributed.grid = distributed.cluster = {2, 1, 1};
}

void matrices(std::vector<Case>& all) {
  const auto add = [&](const char* expression, estoc::emulator::Entry entry) {
    Case& test = all.emplace_back(kernel("product", expression, entry));
    test.shared_bytes = 1024;
    test.in = {words(256)};
    test.out_bytes = 512;
  };
  add(ESTOC_KERNEL((load_matrices<4, false>)));
  add(ESTOC_KERNEL((load_matrices<2, false>)));
  add(ESTOC_KERNEL((load_matrices<1, false>)));
  add(ESTOC_KERNEL((load_matrices<4, true>)));
  add(ESTOC_KERNEL((load_matrices<2, true>)));
  add(ESTOC_KERNEL((load_matrices<1, true>)));
  add(ESTOC_KERNEL((store_matrices<4, false>)));
  add(ESTOC_KERNEL((store_matrices<2, false>)));
  add(ESTOC_KERNEL((store_matrices<1, false>)));
  add(ESTOC_KERNEL((store_matrices<4, true>)));
  add(ESTOC_KERNEL((store_matrices<2, true>)));
  add(ESTOC_KERNEL((store_matrices<1, true>)));
}

// A product of one warp: on integers, and on reals within the model of its type.
void warp_product(std::vector<Case>& all, const char* expression, estoc::emulator::Entry entry,
                  Type a, Type b, Type sums, double model) {
  const auto bytes = static_cast<unsigned>(estoc::abi::type_bytes(a));
  for (const Kind kind : {Kind::integers, Kind::reals}) {
    if (kind == Kind::reals && model == 0) continue;
    Case& test = all.emplace_back(kernel("product", expression, entry));
    test.in = {{kind, a, 512 / bytes}, {kind, b, 256 / bytes}, {kind, sums, 128}};
    test.out_bytes = 512;
    if (kind == Kind::integers) test.product = Product{false, a, b};
    if (kind == Kind::reals) {
      test.name += " of reals";
      test.judge = Judge::sums;
      test.model = model;
    }
  }
}

void warp_products(std::vector<Case>& all) {
  // Each of the terms and the sum loses less than a unit of the 24 bits that are kept.
  const double wide = 20 * 0x1p-24;
  const double narrow = 36 * 0x1p-13;
  const Type f32 = Type::f32;
  warp_product(all, ESTOC_KERNEL((mma_16<Type::f16>)), Type::f16, Type::f16, f32, wide);
  warp_product(all, ESTOC_KERNEL((mma_16<Type::bf16>)), Type::bf16, Type::bf16, f32, wide);
  warp_product(all, ESTOC_KERNEL((mma_tf32)), Type::tf32, Type::tf32, f32, wide);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::e4m3, Type::e4m3, float>)), Type::e4m3, Type::e4m3,
               f32, narrow);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::e4m3, Type::e5m2, float>)), Type::e4m3, Type::e5m2,
               f32, narrow);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::e5m2, Type::e4m3, float>)), Type::e5m2, Type::e4m3,
               f32, narrow);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::e5m2, Type::e5m2, float>)), Type::e5m2, Type::e5m2,
               f32, narrow);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::i8, Type::i8, i32>)), Type::i8, Type::i8, Type::i32,
               0);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::i8, Type::u8, i32>)), Type::i8, Type::u8, Type::i32,
               0);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::u8, Type::i8, i32>)), Type::u8, Type::i8, Type::i32,
               0);
  warp_product(all, ESTOC_KERNEL((mma_8<Type::u8, Type::u8, i32>)), Type::u8, Type::u8, Type::i32,
               0);
  warp_product(all, ESTOC_KERNEL((mma_16_half)), Type::f16, Type::f16, f32, 0);
  all.back().out_bytes = 256;
  all.back().product.reset();
  const auto f64 = [&](const char* expression, estoc::emulator::Entry entry, unsigned in,
                       unsigned out) {
    Case& test = all.emplace_back(kernel("product", expression, entry));
    test.in = {{Kind::integers, Type::f64, in}};
    test.out_bytes = out;
  };
  f64(ESTOC_KERNEL((mma_f64_small)), 128, 512);
  f64(ESTOC_KERNEL((mma_f64<4>)), 512, 1024);
  f64(ESTOC_KERNEL((mma_f64<8>)), 512, 1024);
  f64(ESTOC_KERNEL((mma_f64<16>)), 512, 1024);
}

}  // namespace

std::vector<Case> instruction_cases() {
  std::vector<Case> all;
  basic(all);
  functions(all);
  async(all);
  matrices(all);
  warp_products(all);
  return all;
}

}  // namespace conformance
