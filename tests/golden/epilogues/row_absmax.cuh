// D = accum * scale; amax = absmax(D) by rows
namespace ep = estoc::epilogue;
struct Epilogue {
  using Accumulator = float;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = false;
  static constexpr bool kPairs = false;
  static constexpr int kWidth = 4;
  static constexpr int kTensors = 0;
  static constexpr int kScalars = 1;
  static constexpr int kStores = 1;
  static constexpr int kReductions = 1;
  using Parameters = estoc::abi::EpilogueParameters<0, 1, 1, 1>;
  static constexpr ep::TensorSpec kTensor[1] = {};
  static constexpr ep::ScalarSpec kScalar[] = {
      {Type::f32, Type::f32},
  };
  static constexpr ep::StoreSpec kStore[] = {
      {Type::e4m3, Type::f32},
  };
  static constexpr ep::ReducedSpec kReduced[] = {
      {ep::Reduction::absmax, Type::f32, Type::f32, true, true, false},
  };

  template <typename In, typename Out>
  __device__ __forceinline__ static void element([[maybe_unused]] Accumulator accum,
                                                 [[maybe_unused]] const In& in,
                                                 Out& out) {
    const float x1 = in.template scalar<0>();
    const float x2 = ep::mul(accum, x1);
    out.template store<0>(x2);
    out.template reduce<0>(x2);
  }
};
