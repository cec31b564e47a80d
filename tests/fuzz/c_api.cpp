// Fuzzes the C interface: calls in any order, with any values that a caller may pass, give a status
// and a sentence or an object that can be used; nothing is thrown, leaked or read after it is
// freed.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "discovery/builtin.h"
#include "estoc/arguments.hpp"
#include "estoc/estoc.h"
#include "estoc/kernel_class.hpp"
#include "expect.h"

namespace estoc {
namespace {

constexpr std::array kTargets{Target::cpu(), Target::sm(90, true)};

/// out = A @ B of f32, by plain loops, with a workspace that is written.
class PlainLaunch final : public Launch {
 public:
  PlainLaunch(const GemmArguments& gemm, Workspace workspace)
      : gemm_(gemm), workspace_(workspace) {}

  void launch(void* /*stream*/) override {
    if (workspace_.bytes > 0) std::memset(workspace_.data, 1, workspace_.bytes);
    const GemmExtents& extents = gemm_.extents();
    for (std::int64_t l = 0; l < extents.l; ++l)
      for (std::int64_t i = 0; i < extents.m; ++i)
        for (std::int64_t j = 0; j < extents.n; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < extents.k; ++k)
            sum += at(gemm_.a_matrix(), l, i, k) * at(gemm_.b_matrix(), l, k, j);
          at(gemm_.out_matrix(), l, i, j) = sum;
        }
  }

 private:
  static float& at(const MatrixView& x, std::int64_t l, std::int64_t i, std::int64_t j) {
    return static_cast<float*>(x.data)[l * x.batch_stride + i * x.row_stride + j * x.column_stride];
  }

  GemmArguments gemm_;
  Workspace workspace_;
};

class PlainGemm final : public KernelClass {
 public:
  std::string_view name() const override { return "plain_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }
  std::size_t workspace_size(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                             const RuntimeArguments& /*arguments*/) const override {
    return 64;
  }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& options) const override {
    return std::make_unique<PlainLaunch>(dynamic_cast<const GemmArguments&>(arguments),
                                         options.workspace);
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = DesignSpace::Builder()
                                                  .dtypes(Role::a_dtype, {Dtype::f32})
                                                  .choices("kind", {"one", "other"})
                                                  .build();
};

class PlainProvider final : public Provider {
 public:
  std::string_view name() const override { return "plain"; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override {
    return {std::make_shared<PlainGemm>()};
  }
};

}  // namespace

std::vector<std::shared_ptr<const Provider>> builtin_providers() {
  return {std::make_shared<PlainProvider>()};
}

}  // namespace estoc

namespace {

using estoc::fuzz::expect;

/// Takes the input apart; zeros follow its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data, size) {}
  bool empty() const { return data_.empty(); }

  std::uint8_t next() {
    if (data_.empty()) return 0;
    const std::uint8_t byte = data_.front();
    data_ = data_.subspan(1);
    return byte;
  }
  std::size_t below(std::size_t count) { return next() % count; }
  bool seldom() { return below(16) == 0; }

  /// Mostly a small number, else one that overflows something.
  std::int64_t number() {
    constexpr std::array<std::int64_t, 6> kOdd{std::numeric_limits<std::int64_t>::max(),
                                               std::numeric_limits<std::int64_t>::min(),
                                               -1,
                                               std::int64_t{1} << 32,
                                               std::int64_t{1} << 62,
                                               1000};
    return seldom() ? kOdd.at(below(kOdd.size())) : static_cast<std::int64_t>(below(9));
  }

  /// One of the words, NULL, or the input's own bytes.
  template <std::size_t count>
  const char* word(const std::array<const char*, count>& words, std::string& memory) {
    const std::size_t which = below(2 * count + 2);
    if (which < 2 * count) return words.at(which % count);
    if (which == 2 * count) return nullptr;
    memory.clear();
    for (std::size_t length = below(64); length > 0 && !empty(); --length)
      memory += static_cast<char>(next());
    return memory.c_str();
  }

 private:
  std::span<const std::uint8_t> data_;
};

constexpr std::array kDtypes{"f32", "f32", "f32", "f64", "bf16", "i8", "bool", "i4", "e4m3"};
constexpr std::array kTargets{"cpu", "sm_90a", "sm_80"};
constexpr std::array kFilters{"class=plain_gemm", "a=f32 kind=other", "name=*one", ""};
constexpr std::array kEpilogues{"D = relu(alpha * accum + bias)", "D = accum",
                                "D = accum; x = bias", "D = gelu(accum) + C; amax = absmax(D)", ""};
constexpr std::array kNames{"alpha", "bias", "C", "amax", "x", ""};
constexpr std::array kControls{"deterministic=1", "workspace=1KiB", "workspace=8", "m=3", ""};
constexpr std::array kProblems{"gemm m=4 n=4 k=4 a=f32", "gemm m=4 n=4 k=4 a=f32 l=3 b=f32:n",
                               "elementwise op=relu shape=4 a=f32", "gemm", ""};
constexpr std::array kKernels{"plain_gemm-f32-kind.one", "plain_gemm-f32-kind.other", "plain_gemm-",
                              "nothing"};

constexpr std::size_t kArena = 4096;
alignas(256) std::array<std::array<std::uint8_t, kArena>, 3> arenas;
alignas(256) std::array<std::uint8_t, 128> scratch;

/// A tensor of the caller's. Data is given only where all that it describes lies in an arena.
struct Tensor {
  std::array<std::int64_t, 8> shape{}, strides{};
  std::string dtype;
  estoc_tensor value{};

  explicit Tensor(Bytes& bytes) {
    value.rank = bytes.seldom() ? static_cast<int>(bytes.next()) - 100
                                : static_cast<int>(2 + bytes.below(2));
    for (std::size_t i = 0; i < shape.size(); ++i) {
      shape.at(i) = bytes.number();
      strides.at(i) = bytes.number();
    }
    value.shape = bytes.seldom() ? nullptr : shape.data();
    value.strides = bytes.below(2) == 0 ? nullptr : strides.data();
    value.dtype = bytes.word(kDtypes, dtype);
    value.device = bytes.seldom() ? static_cast<int>(bytes.next()) - 2 : -1;
    value.data =
        fits() ? arenas.at(bytes.below(arenas.size())).data() + bytes.below(2) * 256 : nullptr;
  }

  bool fits() const {
    if (value.rank < 0 || value.rank > 6 || value.shape == nullptr || value.device != -1)
      return false;
    std::int64_t last = 0;
    std::int64_t packed = 1;
    for (auto i = static_cast<std::size_t>(value.rank); i-- > 0;) {
      const std::int64_t extent = shape.at(i);
      const std::int64_t stride = value.strides != nullptr ? strides.at(i) : packed;
      if (extent < 0 || extent > 64 || stride < 0 || stride > 64 * 64) return false;
      last += std::max<std::int64_t>(extent - 1, 0) * stride;
      packed *= std::max<std::int64_t>(extent, 1);
      if (packed > 512) return false;
    }
    return last < 400;  // of 8 bytes, from an offset of 256
  }
};

/// Objects of one kind, at most a few; what is freed is NULL again.
template <typename Object, void (*release)(Object*)>
class Pool {
 public:
  Pool() = default;
  ~Pool() {
    for (Object* object : objects_)
      release(object);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Object* any(Bytes& bytes) { return objects_.at(bytes.below(objects_.size())); }
  void free_one(Bytes& bytes) { reset(objects_.at(bytes.below(objects_.size())), nullptr); }

  /// Makes an object by a call; it must be there exactly when the call succeeded.
  template <typename Call>
  void make(Bytes& bytes, const Call& call) {
    Object* made = nullptr;
    const estoc_status status = call(&made);
    expect((status == ESTOC_OK) == (made != nullptr));
    if (status != ESTOC_OK) expect(*estoc_last_error() != '\0');
    if (made != nullptr) reset(objects_.at(bytes.below(objects_.size())), made);
  }

  void keep(Bytes& bytes, Object* made) { reset(objects_.at(bytes.below(objects_.size())), made); }

 private:
  static void reset(Object*& place, Object* object) {
    release(place);
    place = object;
  }
  std::array<Object*, 3> objects_{};
};

class Session {
 public:
  explicit Session(Bytes bytes) : bytes_(bytes) {}

  void run() {
    for (int call = 0; call < 64 && !bytes_.empty(); ++call)
      step();
  }

 private:
  void step() {
    switch (bytes_.below(18)) {
      case 0:
      case 1:
        return gemm();
      case 2:
        return gemm_with();
      case 3:
        return problem();
      case 4:
        return find();
      case 5:
        return find_first();
      case 6:
        return by_name();
      case 7:
        return names();
      case 8:
        return supports();
      case 9:
        return compile();
      case 10:
        return save();
      case 11:
        return open();
      case 12:
        return find_in_bundle();
      case 13:
        return run_once();
      case 14:
        return bind();
      case 15:
        return launch();
      case 16:
        return size_workspace();
      default:
        return release();
    }
  }

  static void settle(estoc_status status) {
    if (status != ESTOC_OK) expect(*estoc_last_error() != '\0');
  }

  void gemm() {
    const Tensor a(bytes_), b(bytes_), out(bytes_);
    const char* accumulator = bytes_.word(kDtypes, text_);
    arguments_.make(bytes_, [&](estoc_arguments** made) {
      return estoc_gemm(bytes_.seldom() ? nullptr : &a.value, &b.value, &out.value, accumulator,
                        made);
    });
  }

  void gemm_with() {
    const Tensor a(bytes_), b(bytes_), out(bytes_), first(bytes_), second(bytes_);
    std::string epilogue, controls, name_a, name_b, dtype;
    const std::array<estoc_operand, 2> operands{
        {{bytes_.word(kNames, name_a), bytes_.below(2) == 0 ? nullptr : &first.value, 0.5, nullptr},
         {bytes_.word(kNames, name_b), bytes_.below(2) == 0 ? nullptr : &second.value,
          static_cast<double>(bytes_.number()), bytes_.word(kDtypes, dtype)}}};
    estoc_gemm_options options{};
    options.size = bytes_.seldom() ? bytes_.below(sizeof(options) + 1) : sizeof(options);
    options.epilogue = bytes_.word(kEpilogues, epilogue);
    options.operands = bytes_.seldom() ? nullptr : operands.data();
    options.operand_count = bytes_.below(operands.size() + 1);
    options.controls = bytes_.word(kControls, controls);
    arguments_.make(bytes_, [&](estoc_arguments** made) {
      return estoc_gemm_with(&a.value, &b.value, &out.value, "f32", &options, made);
    });
  }

  void problem() {
    const char* text = bytes_.word(kProblems, text_);
    const int device = static_cast<int>(bytes_.below(3)) - 1;
    arguments_.make(bytes_,
                    [&](estoc_arguments** made) { return estoc_problem(text, device, made); });
  }

  void find() {
    std::array<estoc_kernel*, 3> found{};
    std::size_t written = 0;
    std::string filter;
    const char* terms = bytes_.word(kFilters, filter);
    const char* target = bytes_.word(kTargets, text_);
    const std::size_t capacity = bytes_.below(found.size() + 1);
    const estoc_status status = estoc_find(arguments_.any(bytes_), terms, target, capacity,
                                           found.data(), bytes_.seldom() ? nullptr : &written);
    settle(status);
    expect(written <= capacity);
    for (std::size_t i = 0; i < found.size(); ++i) {
      expect((i < written) == (found.at(i) != nullptr));
      if (found.at(i) != nullptr) kernels_.keep(bytes_, found.at(i));
    }
  }

  void find_first() {
    std::string filter;
    const char* terms = bytes_.word(kFilters, filter);
    const char* target = bytes_.word(kTargets, text_);
    const estoc_arguments* arguments = arguments_.any(bytes_);
    kernels_.make(bytes_, [&](estoc_kernel** made) {
      return estoc_find_first(arguments, terms, target, made);
    });
  }

  void by_name() {
    const char* name = bytes_.word(kKernels, text_);
    kernels_.make(bytes_, [&](estoc_kernel** made) { return estoc_kernel_by_name(name, made); });
  }

  void names() {
    const estoc_kernel* kernel = kernels_.any(bytes_);
    expect((*estoc_kernel_name(kernel) == '\0') == (kernel == nullptr));
    const estoc_artifact* artifact = artifacts_.any(bytes_);
    expect((*estoc_artifact_kernel_name(artifact) == '\0') == (artifact == nullptr));
  }

  void supports() {
    const char* target = bytes_.word(kTargets, text_);
    const estoc_kernel* kernel = kernels_.any(bytes_);
    settle(estoc_kernel_supports(kernel, arguments_.any(bytes_), target));
  }

  void compile() {
    const char* target = bytes_.word(kTargets, text_);
    const estoc_kernel* kernel = kernels_.any(bytes_);
    artifacts_.make(bytes_,
                    [&](estoc_artifact** made) { return estoc_compile(kernel, target, made); });
  }

  static const char* path() {
    static const std::string where =
        std::string(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/estoc_fuzz_c_api_" +
        std::to_string(::getpid());
    return where.c_str();
  }

  void save() {
    if (!bytes_.seldom()) return;  // it waits for the disk
    const std::array<const estoc_artifact*, 2> saved{artifacts_.any(bytes_),
                                                     artifacts_.any(bytes_)};
    settle(estoc_save(path(), saved.data(), bytes_.below(saved.size() + 1)));
  }

  void open() {
    const char* const file = bytes_.seldom() ? "/nonexistent" : path();
    bundles_.make(bytes_, [&](estoc_bundle** made) { return estoc_bundle_open(file, made); });
  }

  void find_in_bundle() {
    const char* target = bytes_.word(kTargets, text_);
    const estoc_bundle* bundle = bundles_.any(bytes_);
    const estoc_arguments* arguments = arguments_.any(bytes_);
    artifacts_.make(bytes_, [&](estoc_artifact** made) {
      return estoc_bundle_find(bundle, arguments, target, made);
    });
  }

  /// What a caller may say that it knows is left to kernels that check.
  estoc_run_options options() {
    estoc_run_options options{};
    options.size = bytes_.seldom() ? bytes_.below(sizeof(options) + 1) : sizeof(options);
    options.threads = static_cast<int>(bytes_.number());
    options.programmatic = static_cast<int>(bytes_.below(2));
    if (bytes_.below(2) == 0) return options;
    options.workspace = scratch.data() + (bytes_.seldom() ? 8 : 0);
    options.workspace_bytes = bytes_.below(scratch.size() - 8);
    return options;
  }

  void run_once() {
    const estoc_run_options given = options();
    const estoc_artifact* artifact = artifacts_.any(bytes_);
    settle(estoc_run_with(artifact, arguments_.any(bytes_), bytes_.seldom() ? nullptr : &given));
  }

  void bind() {
    const estoc_run_options given = options();
    const estoc_artifact* artifact = artifacts_.any(bytes_);
    const estoc_arguments* arguments = arguments_.any(bytes_);
    launches_.make(bytes_, [&](estoc_launch** made) {
      return bytes_.below(2) == 0 ? estoc_bind_with(artifact, arguments, &given, made)
                                  : estoc_bind(artifact, arguments, nullptr, nullptr, 0, made);
    });
  }

  void launch() { settle(estoc_launch_on(launches_.any(bytes_), nullptr)); }

  void size_workspace() {
    std::size_t size = 0;
    const estoc_artifact* artifact = artifacts_.any(bytes_);
    settle(
        estoc_workspace_size(artifact, arguments_.any(bytes_), bytes_.seldom() ? nullptr : &size));
  }

  void release() {
    switch (bytes_.below(5)) {
      case 0:
        return arguments_.free_one(bytes_);
      case 1:
        return kernels_.free_one(bytes_);
      case 2:
        return artifacts_.free_one(bytes_);
      case 3:
        return bundles_.free_one(bytes_);
      default:
        return launches_.free_one(bytes_);
    }
  }

  Bytes bytes_;
  std::string text_;
  Pool<estoc_arguments, estoc_arguments_free> arguments_;
  Pool<estoc_kernel, estoc_kernel_free> kernels_;
  Pool<estoc_artifact, estoc_artifact_free> artifacts_;
  Pool<estoc_bundle, estoc_bundle_free> bundles_;
  Pool<estoc_launch, estoc_launch_free> launches_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Session(Bytes(data, size)).run();
  return 0;
}
