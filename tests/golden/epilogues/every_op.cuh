// every operation
namespace ep = estoc::epilogue;
struct Epilogue {
  using Accumulator = float;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = true;
  static constexpr bool kPairs = true;
  static constexpr int kWidth = 4;
  static constexpr int kTensors = 0;
  static constexpr int kScalars = 1;
  static constexpr int kStores = 11;
  static constexpr int kReductions = 0;
  using Parameters = estoc::abi::EpilogueParameters<0, 1, 11, 0>;
  static constexpr ep::TensorSpec kTensor[1] = {};
  static constexpr ep::ScalarSpec kScalar[] = {
      {Type::i32, Type::i32},
  };
  static constexpr ep::StoreSpec kStore[] = {
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
  };
  static constexpr ep::ReducedSpec kReduced[1] = {};

  template <typename In, typename Out>
  __device__ __forceinline__ static void element([[maybe_unused]] Accumulator accum,
                                                 [[maybe_unused]] const In& in,
                                                 Out& out) {
    const float x2 = ep::mul(accum, 0.125f);
    const float x3 = ep::abs(x2);
    const float x5 = ep::add(x3, 1.0f);
    const float x6 = ep::neg(x2);
    const float x7 = ep::abs(x2);
    const float x8 = ep::add(x6, x7);
    const float x9 = ep::exp(x2);
    const float x10 = ep::exp2(x2);
    const float x11 = ep::add(x9, x10);
    const float x12 = ep::relu(x2);
    const float x13 = ep::gelu(x2);
    const float x14 = ep::add(x12, x13);
    const float x15 = in.gelu_tanh(x2);
    const float x16 = ep::silu(x2);
    const float x17 = ep::add(x15, x16);
    const float x18 = ep::sigmoid(x2);
    const float x19 = ep::tanh(x2);
    const float x20 = ep::add(x18, x19);
    const float x21 = ep::softplus(x2);
    const float x22 = ep::hardswish(x2);
    const float x23 = ep::add(x21, x22);
    const float x24 = ep::mish(x2);
    const float x25 = ep::sqrt(x5);
    const float x26 = ep::add(x24, x25);
    const float x27 = ep::rsqrt(x5);
    const float x28 = ep::log(x5);
    const float x29 = ep::add(x27, x28);
    const float x30 = ep::log(x5);
    const float x31 = ep::reciprocal(x5);
    const float x32 = ep::add(x30, x31);
    const float x33 = ep::sub(x5, x2);
    const float x34 = ep::fma(x2, x5, x33);
    const float x35 = ep::div(x2, x5);
    const float x36 = ep::maximum(x34, x35);
    const float x38 = ep::pow(x5, 1.5f);
    const float x39 = ep::minimum(x36, x38);
    const float x42 = ep::clamp(x39, -3.0f, 30.0f);
    const float x44 = ep::leaky_relu(x2, 0.5f);
    const float x45 = ep::add(x42, x44);
    const float x47 = ep::elu(x2, 2.0f);
    const float x48 = ep::add(x45, x47);
    const bool x50 = ep::less(x2, x5);
    const bool x51 = ep::greater_equal(x2, 0.0f);
    const bool x52 = ep::logical_and(x50, x51);
    const bool x53 = ep::equal(x2, 0.0f);
    const bool x54 = ep::greater(0.0f, x5);
    const bool x55 = ep::logical_or(x53, x54);
    const bool x56 = ep::not_equal(x2, x5);
    const bool x57 = ep::logical_not(x56);
    const bool x58 = ep::logical_or(x55, x57);
    const bool x59 = ep::logical_or(x52, x58);
    const bool x60 = ep::less_equal(x2, x5);
    const bool x61 = ep::logical_and(x59, x60);
    const float x62 = ep::cast<float, Type::bf16>(x2);
    const float x63 = ep::select(x61, x48, x62);
    const int x65 = in.template scalar<0>();
    const float x67 = ep::dropout(x2, 0.5f, ep::to<unsigned>(x65), ep::to<unsigned>(3), in.index());
    out.template store<0>(x8);
    out.template store<1>(x11);
    out.template store<2>(x14);
    out.template store<3>(x17);
    out.template store<4>(x20);
    out.template store<5>(x23);
    out.template store<6>(x26);
    out.template store<7>(x29);
    out.template store<8>(x32);
    out.template store<9>(x63);
    out.template store<10>(x67);
  }
};
