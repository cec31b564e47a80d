// Reads handwritten digits with two matrix products: logits = relu(images @ fc1^T) @ fc2^T. The
// first applies relu, and the second its temperature and the largest logit of each row, before they
// store anything. They run on the first GPU, where there is one.
//
// Usage: digits [DATA_FOLDER [PREDICTIONS.npy]]
// Writes the predicted digits, i32 (images,), and exits 1 when fewer than 96% are right.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "estoc/estoc.hpp"

namespace {

using estoc::Device;
using estoc::Dtype;
using estoc::TensorView;

// A tensor of the host where the products are computed: on the GPU a copy, on the CPU itself.
class Placed {
 public:
  explicit Placed(const TensorView& host) : host_(host) {
    if (!estoc::cuda_devices().empty()) copy_ = estoc::DeviceTensor::copy_of(host, Device::cuda(0));
  }
  const TensorView& view() const { return copy_ ? copy_->view() : host_; }
  void fetch() const {
    if (copy_) copy_->copy_to(host_);
  }

 private:
  TensorView host_;
  std::optional<estoc::DeviceTensor> copy_;
};

// Runs the kernel that ranks first and says which it was. Where there is none, front() says why.
void run_best(const char* what, const estoc::RuntimeArguments& arguments) {
  const estoc::KernelList kernels = estoc::get_kernels(arguments);
  kernels.front().run(arguments);
  std::printf("%-7s %s\n", what, kernels.front().name().c_str());
}

int classify(const std::string& data, const std::string& out) {
  const std::string weights = data + "/digits_classifier.safetensors:";
  const auto images = estoc::FileTensor::open(data + "/digits_images.npy");
  const auto labels = estoc::FileTensor::open(data + "/digits_labels.npy");
  const auto fc1 = estoc::FileTensor::open(weights + "fc1.weight");
  const auto fc2 = estoc::FileTensor::open(weights + "fc2.weight");

  // Weights are stored (out features, in features): B is the transposed view, no copy is made.
  const Placed a(images.view());
  const Placed b1(fc1.view().transposed());
  const Placed b2(fc2.view().transposed());
  const std::int64_t count = a.view().shape(0);
  const std::int64_t width = b1.view().shape(1);
  const std::int64_t classes = b2.view().shape(1);

  std::vector<std::uint16_t> hidden_data(static_cast<std::size_t>(count * width));
  std::vector<float> logits_data(static_cast<std::size_t>(count * classes));
  std::vector<float> best_data(static_cast<std::size_t>(count));
  const Placed hidden(TensorView::row_major(hidden_data.data(), Dtype::f16, {count, width}));
  const Placed logits(TensorView::row_major(logits_data.data(), Dtype::f32, {count, classes}));
  const Placed best(TensorView::row_major(best_data.data(), Dtype::f32, {count, 1}));

  run_best("layer 1", estoc::GemmArguments(a.view(), b1.view(), hidden.view(), Dtype::f32, {},
                                           {"D = relu(accum)"}));
  const estoc::EpilogueArguments largest("D = accum / temperature; best = max(D)",
                                         {{"temperature", 2.0}, {"best", best.view()}});
  run_best("layer 2",
           estoc::GemmArguments(hidden.view(), b2.view(), logits.view(), Dtype::f32, {}, largest));
  logits.fetch();
  best.fetch();

  // The predicted digit is the position of the largest logit in its row, which the kernel found.
  std::vector<std::int32_t> digits;
  const auto* label = static_cast<const std::int32_t*>(labels.view().data());
  int right = 0;
  for (auto row = logits_data.begin(); row != logits_data.end(); row += classes) {
    const auto digit = std::find(row, row + classes, best_data[digits.size()]) - row;
    right += digit == label[digits.size()] ? 1 : 0;
    digits.push_back(static_cast<std::int32_t>(digit));
  }
  estoc::save_tensor(out, TensorView::row_major(digits.data(), Dtype::i32, {count}));

  const double accuracy = static_cast<double>(right) / static_cast<double>(count);
  std::printf("%d of %d digits right (%.1f%%), predictions in %s\n", right, static_cast<int>(count),
              100 * accuracy, out.c_str());
  return accuracy >= 0.96 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return classify(argc > 1 ? argv[1] : "examples/data",
                    argc > 2 ? argv[2] : "digits_predictions.npy");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}
