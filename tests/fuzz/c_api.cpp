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
#include "estoc/estoc.h"
#include "expect.h"
#include "plain_provider.h"

namespace estoc {

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
constexpr std::array kScaleModes{"tensorwise", "rowwise", "blockwise_1x32", ""};
constexpr std::array kOps{"add", "relu", "identity", ""};
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
    value.struct_size = bytes.seldom() ? bytes.below(sizeof(value) + 1) : sizeof(value);
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
    if (value.struct_size < offsetof(estoc_tensor, alignment)) return false;  // strides are unread
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
    static constexpr std::array kSteps{
        &Session::gemm,        &Session::gemm,           &Session::fused_gemm,
        &Session::elementwise, &Session::problem,        &Session::move,
        &Session::find,        &Session::find_first,     &Session::enumerate,
        &Session::by_name,     &Session::read_list,      &Session::names,
        &Session::describe,    &Session::variant,        &Session::supports,
        &Session::predict,     &Session::explain,        &Session::compile,
        &Session::compile_all, &Session::save,           &Session::open,
        &Session::read_file,   &Session::find_in_bundle, &Session::dispatch,
        &Session::run_once,    &Session::bind,           &Session::launch,
        &Session::move_launch, &Session::size_workspace, &Session::wrong_kind,
        &Session::judge,       &Session::elements,       &Session::release};
    (this->*kSteps.at(bytes_.below(kSteps.size())))();
  }

  static void settle(estoc_status status) {
    if (status != ESTOC_OK) expect(*estoc_last_error() != '\0');
  }

  template <typename Struct>
  Struct sized() {
    Struct sized{};
    sized.struct_size = bytes_.seldom() ? bytes_.below(sizeof(sized) + 1) : sizeof(sized);
    return sized;
  }

  void gemm() {
    const Tensor a(bytes_), b(bytes_), out(bytes_);
    auto gemm = sized<estoc_gemm>();
    gemm.a = bytes_.seldom() ? nullptr : &a.value;
    gemm.b = &b.value;
    gemm.out = &out.value;
    gemm.accumulator = bytes_.word(kDtypes, text_);
    arguments_.make(bytes_,
                    [&](estoc_arguments** made) { return estoc_arguments_gemm(&gemm, made); });
  }

  void fused_gemm() {
    Tensor a(bytes_);
    const Tensor b(bytes_), out(bytes_), first(bytes_), second(bytes_);
    std::string epilogue, name_a, name_b, dtype, mode;
    auto scale = sized<estoc_scale>();
    scale.tensor = &second.value;
    scale.mode = bytes_.word(kScaleModes, mode);
    if (bytes_.seldom()) a.value.scale = &scale;
    std::array<estoc_operand, 2> operands{sized<estoc_operand>(), sized<estoc_operand>()};
    operands[0].name = bytes_.word(kNames, name_a);
    operands[0].tensor = bytes_.below(2) == 0 ? nullptr : &first.value;
    operands[0].number = 0.5;
    operands[1].name = bytes_.word(kNames, name_b);
    operands[1].tensor = bytes_.below(2) == 0 ? nullptr : &second.value;
    operands[1].is_integer = static_cast<int>(bytes_.below(2));
    operands[1].integer = bytes_.number();
    operands[1].dtype = bytes_.word(kDtypes, dtype);
    auto controls = sized<estoc_controls>();
    controls.deterministic = static_cast<int>(bytes_.below(2));
    controls.limit_workspace = static_cast<int>(bytes_.below(2));
    controls.workspace_limit = bytes_.number();
    auto gemm = sized<estoc_gemm>();
    gemm.a = &a.value;
    gemm.b = &b.value;
    gemm.out = &out.value;
    gemm.epilogue = bytes_.word(kEpilogues, epilogue);
    // An element that is smaller than its struct may have no neighbour where it says.
    gemm.operands = bytes_.seldom() ? nullptr : operands.data();
    gemm.operand_count = bytes_.below(operands.size() + 1);
    gemm.controls = &controls;
    arguments_.make(bytes_,
                    [&](estoc_arguments** made) { return estoc_arguments_gemm(&gemm, made); });
  }

  void elementwise() {
    const Tensor a(bytes_), b(bytes_), out(bytes_);
    auto elementwise = sized<estoc_elementwise>();
    elementwise.op = bytes_.word(kOps, text_);
    elementwise.a = &a.value;
    elementwise.b = bytes_.below(2) == 0 ? nullptr : &b.value;
    elementwise.out = &out.value;
    arguments_.make(bytes_, [&](estoc_arguments** made) {
      return estoc_arguments_elementwise(&elementwise, made);
    });
  }

  void problem() {
    const char* text = bytes_.word(kProblems, text_);
    const int device = static_cast<int>(bytes_.below(3)) - 1;
    arguments_.make(
        bytes_, [&](estoc_arguments** made) { return estoc_arguments_parse(text, device, made); });
    const estoc_arguments* arguments = arguments_.any(bytes_);
    char* again = nullptr;
    settle(estoc_arguments_text(arguments, &again));
    estoc_string_destroy(again);
    again = nullptr;
    settle(estoc_arguments_epilogue(arguments, &again));
    estoc_string_destroy(again);
    estoc_work work{.struct_size = sizeof work};
    settle(estoc_arguments_work(arguments, &work));
  }

  /// Only where the operands' memory is as large as before, as a caller has to see to.
  void move() {
    const estoc_arguments* arguments = arguments_.any(bytes_);
    estoc_arguments* moved = nullptr;
    settle(estoc_arguments_move(arguments, nullptr, bytes_.seldom() ? nullptr : arenas[0].data(),
                                nullptr, &moved));
    estoc_arguments_destroy(moved);
  }

  estoc_query query() {
    auto query = sized<estoc_query>();
    query.filter = bytes_.word(kFilters, filter_);
    query.target = bytes_.word(kTargets, text_);
    query.portable = static_cast<int>(bytes_.below(2));
    static constexpr std::array<const char*, 3> kProviders{"plain", "nobody", nullptr};
    query.providers = bytes_.seldom() ? kProviders.data() : nullptr;
    query.provider_count =
        query.providers != nullptr || bytes_.seldom() ? bytes_.below(kProviders.size() + 1) : 0;
    return query;
  }

  void find() {
    const estoc_query asked = query();
    const estoc_arguments* arguments = arguments_.any(bytes_);
    lists_.make(bytes_, [&](estoc_kernels** made) {
      return estoc_kernels_find(arguments, bytes_.seldom() ? nullptr : &asked, made);
    });
  }

  void find_first() {
    const estoc_query asked = query();
    const estoc_arguments* arguments = arguments_.any(bytes_);
    kernels_.make(bytes_, [&](estoc_kernel** made) {
      return estoc_kernel_find(arguments, bytes_.seldom() ? nullptr : &asked, made);
    });
  }

  void enumerate() {
    const estoc_query asked = query();
    lists_.make(bytes_,
                [&](estoc_kernels** made) { return estoc_kernels_enumerate(&asked, made); });
  }

  void read_list() {
    const estoc_kernels* list = lists_.any(bytes_);
    std::uint64_t count = 0;
    char* why = nullptr;
    settle(estoc_kernels_count(list, &count));
    settle(estoc_kernels_why_empty(list, &why));
    estoc_string_destroy(why);
    const auto index = static_cast<std::uint64_t>(bytes_.number());
    kernels_.make(bytes_, [&](estoc_kernel** made) {
      const estoc_status status = estoc_kernels_get(list, index, made);
      expect((status == ESTOC_OK) == (index < count));
      return status;
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
    expect((*estoc_artifact_target(artifact) == '\0') == (artifact == nullptr));
    std::string epilogue;
    estoc_strings* inputs = nullptr;
    settle(estoc_epilogue_names(bytes_.word(kEpilogues, epilogue), &inputs, nullptr));
    estoc_strings_destroy(inputs);
  }

  void describe() {
    const estoc_kernel* kernel = kernels_.any(bytes_);
    auto info = sized<estoc_kernel_info>();
    auto operand = sized<estoc_kernel_operand>();
    estoc_strings* targets = nullptr;
    settle(estoc_kernel_get_info(kernel, &info));
    settle(estoc_kernel_get_operand(kernel, bytes_.next(), &operand));
    settle(estoc_kernel_targets(kernel, &targets));
    estoc_strings_destroy(targets);
  }

  void variant() {
    const estoc_kernel* kernel = kernels_.any(bytes_);
    auto knobs = sized<estoc_knobs>();
    settle(estoc_kernel_get_knobs(kernel, &knobs));
    if (bytes_.below(2) == 0) knobs.split = static_cast<int>(bytes_.number());
    kernels_.make(bytes_, [&](estoc_kernel** made) {
      std::string epilogue;
      return bytes_.below(2) == 0
                 ? estoc_kernel_with_knobs(kernel, &knobs, made)
                 : estoc_kernel_with_epilogue(kernel, bytes_.word(kEpilogues, epilogue), made);
    });
  }

  void supports() {
    const char* target = bytes_.word(kTargets, text_);
    const estoc_kernel* kernel = kernels_.any(bytes_);
    estoc_reason reason = ESTOC_REASON_NONE;
    settle(estoc_kernel_supports(kernel, arguments_.any(bytes_), target,
                                 bytes_.seldom() ? nullptr : &reason));
  }

  void predict() {
    const char* target = bytes_.word(kTargets, text_);
    const estoc_kernel* kernel = kernels_.any(bytes_);
    estoc_prediction* prediction = nullptr;
    auto part = sized<estoc_prediction_part>();
    settle(estoc_kernel_predict(kernel, arguments_.any(bytes_), target, &prediction));
    settle(estoc_prediction_get(prediction, bytes_.below(4), &part));
    estoc_prediction_destroy(prediction);
  }

  void explain() {
    const estoc_query asked = query();
    estoc_explanations* explanations = nullptr;
    auto explanation = sized<estoc_explanation>();
    settle(estoc_explain(arguments_.any(bytes_), &asked, &explanations));
    settle(estoc_explanations_get(explanations, bytes_.below(4), &explanation));
    estoc_explanations_destroy(explanations);
  }

  void compile() {
    const char* target = bytes_.word(kTargets, text_);
    const estoc_kernel* kernel = kernels_.any(bytes_);
    const auto options = sized<estoc_compile_options>();
    artifacts_.make(bytes_, [&](estoc_artifact** made) {
      return estoc_kernel_compile(kernel, target, bytes_.seldom() ? nullptr : &options, made);
    });
    auto code = sized<estoc_code>();
    char* source = nullptr;
    settle(estoc_artifact_code(artifacts_.any(bytes_), &code));
    settle(estoc_kernel_emit(kernel, static_cast<int>(bytes_.below(3)), target, &options, &source));
    estoc_string_destroy(source);
  }

  void compile_all() {
    if (!bytes_.seldom()) return;  // it starts threads
    const std::array<const estoc_kernel*, 2> kernels{kernels_.any(bytes_), kernels_.any(bytes_)};
    auto options = sized<estoc_compile_options>();
    options.threads = 1;
    options.progress = [](void* context, std::size_t, std::size_t) {
      return *static_cast<int*>(context);
    };
    int cancels = static_cast<int>(bytes_.below(2));
    options.context = &cancels;
    if (options.struct_size < sizeof(options)) options.progress = nullptr;  // without a context
    estoc_outcomes* outcomes = nullptr;
    settle(estoc_compile_all(kernels.data(), bytes_.below(kernels.size() + 1),
                             bytes_.word(kTargets, text_), &options, &outcomes));
    const std::size_t index = bytes_.below(4);
    artifacts_.make(
        bytes_, [&](estoc_artifact** made) { return estoc_outcomes_get(outcomes, index, made); });
    estoc_outcomes_destroy(outcomes);
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
    std::string problem;
    auto rule = sized<estoc_dispatch_rule>();
    rule.problem = bytes_.word(kProblems, problem);
    rule.m_low = bytes_.number();
    rule.m_high = bytes_.number();
    rule.artifact = bytes_.below(3);
    settle(estoc_bundle_save(path(), saved.data(), bytes_.below(saved.size() + 1), &rule,
                             bytes_.below(2)));
  }

  void open() {
    const char* const file = bytes_.seldom() ? "/nonexistent" : path();
    bundles_.make(bytes_, [&](estoc_bundle** made) { return estoc_bundle_open(file, made); });
  }

  void read_file() {
    const estoc_bundle* bundle = bundles_.any(bytes_);
    auto rule = sized<estoc_dispatch_rule>();
    const std::size_t index = bytes_.below(3);
    settle(estoc_bundle_rule(bundle, index, &rule));
    artifacts_.make(bytes_, [&](estoc_artifact** made) {
      const estoc_status status = estoc_bundle_artifact(bundle, index, made);
      expect((status == ESTOC_OK) == (index < estoc_bundle_artifact_count(bundle)));
      return status;
    });
  }

  void dispatch() {
    const char* target = bytes_.word(kTargets, text_);
    const estoc_bundle* bundle = bundles_.any(bytes_);
    estoc_dispatch* dispatch = nullptr;
    settle(estoc_bundle_dispatch(bundle, arguments_.any(bytes_), target, &dispatch));
    const estoc_artifact* const selected = estoc_dispatch_select(dispatch, bytes_.number());
    expect((*estoc_artifact_kernel_name(selected) == '\0') == (selected == nullptr));
    estoc_dispatch_destroy(dispatch);
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
    auto options = sized<estoc_run_options>();
    options.threads = static_cast<int>(bytes_.number());
    options.programmatic = static_cast<int>(bytes_.below(2));
    if (bytes_.below(2) == 0) return options;
    options.workspace = scratch.data() + (bytes_.seldom() ? 8 : 0);
    options.workspace_bytes = bytes_.below(scratch.size() - 8);
    return options;
  }

  void run_once() {
    const estoc_run_options given = options();
    const estoc_run_options* const asked = bytes_.seldom() ? nullptr : &given;
    const estoc_arguments* arguments = arguments_.any(bytes_);
    settle(bytes_.below(2) == 0 ? estoc_artifact_run(artifacts_.any(bytes_), arguments, asked)
                                : estoc_kernel_run(kernels_.any(bytes_), arguments, asked));
  }

  void bind() {
    const estoc_run_options given = options();
    const estoc_artifact* artifact = artifacts_.any(bytes_);
    const estoc_arguments* arguments = arguments_.any(bytes_);
    launches_.make(bytes_, [&](estoc_launch** made) {
      return estoc_artifact_bind(artifact, arguments, bytes_.seldom() ? nullptr : &given, made);
    });
  }

  void launch() { settle(estoc_launch_start(launches_.any(bytes_), nullptr)); }

  void move_launch() {
    settle(estoc_launch_move(launches_.any(bytes_), nullptr, nullptr, nullptr));
  }

  void size_workspace() {
    std::size_t size = 0;
    const estoc_kernel* kernel = kernels_.any(bytes_);
    const estoc_arguments* arguments = arguments_.any(bytes_);
    settle(estoc_kernel_workspace_size(kernel, arguments, bytes_.seldom() ? nullptr : &size));
    settle(estoc_kernel_workspace_bound(kernel, arguments, &size));
  }

  /// An object of another kind is refused, and left alone by the function that destroys.
  void wrong_kind() {
    auto* const kernel = reinterpret_cast<estoc_kernel*>(artifacts_.any(bytes_));
    settle(estoc_kernel_run(kernel, arguments_.any(bytes_), nullptr));
    expect(*estoc_kernel_name(kernel) == '\0');
    estoc_kernel_destroy(kernel);
  }

  void judge() {
    auto options = sized<estoc_check_options>();
    options.threads = 1;
    options.max_products = bytes_.number();
    auto result = sized<estoc_check_result>();
    char* worst = nullptr;
    settle(estoc_check_output(arguments_.any(bytes_), bytes_.seldom() ? nullptr : &options, &result,
                              bytes_.below(2) == 0 ? nullptr : &worst));
    estoc_string_destroy(worst);
  }

  void elements() {
    double value = 0;
    const char* dtype = bytes_.word(kDtypes, text_);
    const std::int64_t index = bytes_.next() - 3;
    settle(
        estoc_store_element(dtype, arenas[0].data(), index, static_cast<double>(bytes_.number())));
    settle(estoc_load_element(dtype, bytes_.seldom() ? nullptr : arenas[0].data(), index, &value));
  }

  void release() {
    switch (bytes_.below(6)) {
      case 0:
        return arguments_.free_one(bytes_);
      case 1:
        return kernels_.free_one(bytes_);
      case 2:
        return artifacts_.free_one(bytes_);
      case 3:
        return bundles_.free_one(bytes_);
      case 4:
        return lists_.free_one(bytes_);
      default:
        return launches_.free_one(bytes_);
    }
  }

  Bytes bytes_;
  std::string text_, filter_;
  Pool<estoc_arguments, estoc_arguments_destroy> arguments_;
  Pool<estoc_kernel, estoc_kernel_destroy> kernels_;
  Pool<estoc_kernels, estoc_kernels_destroy> lists_;
  Pool<estoc_artifact, estoc_artifact_destroy> artifacts_;
  Pool<estoc_bundle, estoc_bundle_destroy> bundles_;
  Pool<estoc_launch, estoc_launch_destroy> launches_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Session(Bytes(data, size)).run();
  return 0;
}
