// D = alpha * accum + beta * C
namespace ep = estoc::epilogue;
struct Epilogue {
  using Accumulator = float;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = false;
  static constexpr bool kPairs = false;
  static constexpr int kWidth = 4;
  static constexpr int kTensors = 1;
  static constexpr int kScalars = 2;
  static constexpr int kStores = 1;
  static constexpr int kReductions = 0;
  using Parameters = estoc::abi::EpilogueParameters<1, 2, 1, 0>;
  static constexpr ep::TensorSpec kTensor[] = {
      {Type::bf16, Type::f32, true, true},
  };
  static constexpr ep::ScalarSpec kScalar[] = {
      {Type::f32, Type::f32},
      {Type::f32, Type::f32},
  };
  static constexpr ep::StoreSpec kStore[] = {
      {Type::bf16, Type::f32},
  };
  static constexpr ep::ReducedSpec kReduced[1] = {};

  template <typename In, typename Out>
  __device__ __forceinline__ static void element([[maybe_unused]] Accumulator accum,
                                                 [[maybe_unused]] const In& in,
                                                 Out& out) {
    const float x1 = in.template scalar<0>();
    const float x2 = in.template scalar<1>();
    const float x3 = ep::mul(x1, accum);
    const float x4 = in.template tensor<0>();
    const float x5 = ep::mul(x2, x4);
    const float x6 = ep::add(x3, x5);
    out.template store<0>(x6);
  }
};
