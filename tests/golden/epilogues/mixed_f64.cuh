// D = select(mask, v, bytes * 2), v = accum + column + batch
namespace ep = estoc::epilogue;
struct Epilogue {
  using Accumulator = double;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = false;
  static constexpr bool kPairs = false;
  static constexpr int kWidth = 4;
  static constexpr int kTensors = 5;
  static constexpr int kScalars = 0;
  static constexpr int kStores = 3;
  static constexpr int kReductions = 4;
  using Parameters = estoc::abi::EpilogueParameters<5, 0, 3, 4>;
  static constexpr ep::TensorSpec kTensor[] = {
      {Type::f32, Type::f64, true, false},
      {Type::i8, Type::f64, false, false},
      {Type::u8, Type::f64, true, true},
      {Type::boolean, Type::boolean, true, true},
      {Type::f16, Type::f64, false, true},
  };
  static constexpr ep::ScalarSpec kScalar[1] = {};
  static constexpr ep::StoreSpec kStore[] = {
      {Type::f64, Type::f64},
      {Type::f32, Type::f64},
      {Type::i8, Type::f64},
  };
  static constexpr ep::ReducedSpec kReduced[] = {
      {ep::Reduction::sum, Type::f32, Type::f64, true, false, true},
      {ep::Reduction::max, Type::f32, Type::f64, false, false, false},
      {ep::Reduction::min, Type::i8, Type::f64, true, true, false},
      {ep::Reduction::sum_of_squares, Type::f64, Type::f64, true, false, false},
  };

  template <typename In, typename Out>
  __device__ __forceinline__ static void element([[maybe_unused]] Accumulator accum,
                                                 [[maybe_unused]] const In& in,
                                                 Out& out) {
    const double x1 = in.template tensor<0>();
    const double x2 = in.template tensor<1>();
    const double x3 = in.template tensor<2>();
    const bool x4 = in.template tensor<3>();
    const double x5 = in.template tensor<4>();
    const double x6 = ep::add(accum, x1);
    const double x7 = ep::add(x6, x2);
    const double x9 = ep::mul(x3, 2.0);
    const double x10 = ep::select(x4, x7, x9);
    const double x11 = ep::minimum(x7, x5);
    out.template store<0>(x10);
    out.template store<1>(x7);
    out.template store<2>(x11);
    out.template reduce<0>(x7);
    out.template reduce<1>(x7);
    out.template reduce<2>(x11);
    out.template reduce<3>(x11);
  }
};
