// D = dropout(tanh(clamp(accum, -1, 2)), 0.25, seed, 3)
namespace ep = estoc::epilogue;
struct Epilogue {
  using Accumulator = float;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = true;
  static constexpr int kTensors = 0;
  static constexpr int kScalars = 1;
  static constexpr int kStores = 1;
  static constexpr int kReductions = 0;
  using Parameters = estoc::abi::EpilogueParameters<0, 1, 1, 0>;
  static constexpr ep::TensorSpec kTensor[1] = {};
  static constexpr ep::ScalarSpec kScalar[] = {
      {Type::i32, Type::i32},
  };
  static constexpr ep::StoreSpec kStore[] = {
      {Type::f32, Type::f32},
  };
  static constexpr ep::ReducedSpec kReduced[1] = {};

  template <typename In, typename Out>
  __device__ __forceinline__ static void element([[maybe_unused]] Accumulator accum,
                                                 [[maybe_unused]] const In& in,
                                                 Out& out) {
    const float x3 = ep::clamp(accum, -1.0f, 2.0f);
    const float x4 = ep::tanh(x3);
    const int x6 = in.template scalar<0>();
    const float x8 = ep::dropout(x4, 0.25f, ep::to<long long>(x6), ep::to<long long>(3), in.index());
    out.template store<0>(x8);
  }
};
