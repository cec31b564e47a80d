// D = relu(accum + bias); aux = accum
namespace ep = estoc::epilogue;
struct Epilogue {
  using Accumulator = float;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = false;
  static constexpr bool kPairs = false;
  static constexpr int kWidth = 4;
  static constexpr int kTensors = 1;
  static constexpr int kScalars = 0;
  static constexpr int kStores = 2;
  static constexpr int kReductions = 0;
  using Parameters = estoc::abi::EpilogueParameters<1, 0, 2, 0>;
  static constexpr ep::TensorSpec kTensor[] = {
      {Type::bf16, Type::f32, false, true},
  };
  static constexpr ep::ScalarSpec kScalar[1] = {};
  static constexpr ep::StoreSpec kStore[] = {
      {Type::bf16, Type::f32},
      {Type::bf16, Type::f32},
  };
  static constexpr ep::ReducedSpec kReduced[1] = {};

  template <typename In, typename Out>
  __device__ __forceinline__ static void element([[maybe_unused]] Accumulator accum,
                                                 [[maybe_unused]] const In& in,
                                                 Out& out) {
    const float x1 = in.template tensor<0>();
    const float x2 = ep::add(accum, x1);
    const float x3 = ep::relu(x2);
    out.template store<0>(x3);
    out.template store<1>(accum);
  }
};
