// Records of tuned kernels: kept in a file that processes share, and put first by get_kernels.
#include "estoc/tuned.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "estoc/log.hpp"
#include "fake_class.h"
#include "fake_devices.h"
#include "unit/core/temp_folder.h"
#include "unit/io/tmpfs.h"

namespace estoc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Kernels "fake-f32-v0" and so on, the first predicted to be the fastest.
std::shared_ptr<FakeClass> ranked_class(int variants = 4) {
  auto fake = make_class("fake", plain_space(variants));
  fake->on_predict = [](const DesignPoint& point) {
    return Prediction{
        .seconds =
            1 + static_cast<double>(point.index(point.space().dimensions().size() > 1 ? 1 : 0)),
        .knobs = {}};
  };
  return fake;
}

std::vector<std::string> names(const KernelList& kernels) {
  std::vector<std::string> found;
  for (const Kernel& kernel : kernels)
    found.push_back(kernel.name());
  return found;
}

template <typename Action>
std::string message_of(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return {};
}

/// What the library logs during a scope.
class Log {
 public:
  Log() {
    set_log_callback([this](LogLevel /*level*/, std::string_view message) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(message);
    });
  }
  ~Log() { set_log_callback({}); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class Tuned : public ::testing::Test {
 protected:
  Tuned() { use(folder_ / "tuned.db"); }
  ~Tuned() override {
    ::setenv("ESTOC_TUNED", "off", 1);
    clear_discovery_cache();
  }

  static void use(const std::filesystem::path& file) {
    ::setenv("ESTOC_TUNED", file.c_str(), 1);
    clear_discovery_cache();
  }

  /// Says that the kernel of that place in the list is the fastest.
  static TunedKernel record(const GemmArguments& arguments, std::size_t place,
                            double seconds = 1e-6) {
    TunedKernel tuned = tuned_record(arguments, get_kernels(arguments)[place], seconds);
    tuned.rounds = 10;
    return tuned;
  }
  static TunedMerge store(const TunedKernel& one, bool overwrite = false) {
    return store_tuned(std::span(&one, 1), overwrite);
  }

  test::TempFolder folder_;
};

TEST_F(Tuned, TheKernelComesFirstWithItsKnobsAndTheRestKeepsItsOrder) {
  const Registered registered(ranked_class());
  const GemmArguments arguments = f32_gemm();
  const auto ranked = names(get_kernels(arguments));
  ASSERT_THAT(ranked, SizeIs(4));
  TunedKernel tuned = record(arguments, 2, 12.5e-6);
  tuned.knobs = {.raster = Knobs::Raster::along_n, .swizzle = 4, .split = 2, .zigzag = true};
  EXPECT_EQ(store(tuned).added, 1U);

  const KernelList found = get_kernels(arguments);
  EXPECT_THAT(names(found), ElementsAre(ranked[2], ranked[0], ranked[1], ranked[3]));
  EXPECT_EQ(found[0].tuned_seconds(), 12.5e-6);
  EXPECT_EQ(found[0].predicted_seconds(), tuned.predicted_seconds);
  EXPECT_EQ(found[0].knobs(), tuned.knobs);
  EXPECT_EQ(found[1].tuned_seconds(), std::nullopt);
  EXPECT_EQ(explain(arguments).front().first->name(), ranked[2]);
  EXPECT_EQ(find_tuned(arguments), tuned);
  EXPECT_THAT(tuned_kernels(), ElementsAre(tuned));

  EXPECT_EQ(forget_tuned(arguments), 1U);
  EXPECT_THAT(names(get_kernels(arguments)),
              ElementsAre(ranked[0], ranked[1], ranked[2], ranked[3]));
  EXPECT_EQ(forget_tuned(arguments), 0U);
}

TEST_F(Tuned, AFilterAndProvidersStillHold) {
  const Registered registered(ranked_class());
  const GemmArguments arguments = f32_gemm();
  const TunedKernel tuned = record(arguments, 2);
  store(tuned);
  KernelQuery query;
  query.filter =
      MetadataFilter([&](const KernelMetadata& each) { return each.name != tuned.kernel; });
  EXPECT_THAT(get_kernels(arguments, query), SizeIs(3));
  EXPECT_EQ(get_kernels(arguments, query).front().tuned_seconds(), std::nullopt);
  const Registered other(make_class("other", plain_space()), "others");
  EXPECT_EQ(get_kernels(arguments, {.providers = {"others"}}).front().name(), "other-f32-v0");
}

TEST_F(Tuned, ARecordIsForItsProblemAlone) {
  const Registered registered(ranked_class());
  const GemmArguments arguments = f32_gemm();
  store(record(arguments, 1));
  PerformanceControls deterministic;
  deterministic.deterministic = true;
  for (const GemmArguments& other :
       {f32_gemm(at_most(1000)), f32_gemm(deterministic),
        gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32, .layouts = "tnt"}),
        gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32, .alignment = 4})}) {
    const KernelList found = get_kernels(other);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().tuned_seconds(), std::nullopt);
  }
  EXPECT_TRUE(get_kernels(arguments).front().tuned_seconds());
}

TEST_F(Tuned, WhereOrderIsPromisedTheKnobsAreTheRankings) {
  const Registered registered(ranked_class());
  PerformanceControls controls;
  controls.deterministic = true;
  const GemmArguments arguments = f32_gemm(controls);
  TunedKernel tuned = record(arguments, 1);
  tuned.knobs.split = 4;
  store(tuned);
  EXPECT_EQ(get_kernels(arguments).front().name(), tuned.kernel);
  EXPECT_EQ(get_kernels(arguments).front().knobs(), Knobs{});
}

TEST_F(Tuned, KnobsThatNeedTooMuchWorkspaceAreNotTaken) {
  const auto fake = ranked_class();
  fake->workspace_bytes = 100;
  const Registered registered(fake);
  const GemmArguments arguments = f32_gemm(at_most(100));
  TunedKernel tuned = record(arguments, 1);
  tuned.knobs.split = 2;
  store(tuned);
  EXPECT_EQ(get_kernels(arguments).front().knobs().split, 1);
}

TEST_F(Tuned, ARecordOfAnotherDriverOrVersionServesUntilThereIsOneOfThis) {
  const OneDevice device(kHopper);
  const auto fake = make_class("fake", plain_space(4), {kHopper});
  const Registered registered(fake);
  const GemmArguments arguments =
      gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32}, {}, {}, Device::cuda(0));
  fake_devices().front().name = "A GPU";
  const auto ranked = names(get_kernels(arguments));
  TunedKernel older = record(arguments, 1);
  older.driver = "12.1";
  older.time = 100;
  TunedKernel newer = record(arguments, 2);
  newer.library = "9.9.9";
  newer.time = 200;
  EXPECT_EQ(store_tuned(std::vector{older, newer}).added, 2U);
  EXPECT_EQ(get_kernels(arguments).front().name(), ranked[2]) << "the newer";
  TunedKernel exact = record(arguments, 0);
  exact.kernel = ranked[3];
  exact.time = 50;
  store(exact);
  EXPECT_EQ(get_kernels(arguments).front().name(), ranked[3]) << "the one of this driver";
  fake_devices().front().name = "Another GPU";
  clear_discovery_cache();
  EXPECT_EQ(get_kernels(arguments).front().tuned_seconds(), std::nullopt);
}

TEST_F(Tuned, OtherSpellingsAndValuesOfAnEpilogueAreOneProblem) {
  const auto problem = [](const char* text, const char* name, double alpha) {
    return gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32}, {},
                EpilogueArguments(text, {{name, alpha}}));
  };
  const auto first = problem("D = alpha * accum", "alpha", 2);
  const auto again = problem("x = factor * accum; D = x", "factor", 3);
  const auto other = problem("D = relu(alpha * accum)", "alpha", 2);
  const auto fake = ranked_class();
  const Kernel kernel(fake, "fake", *fake->design_space->parse("-f32-v0"));
  EXPECT_EQ(tuned_record(first, kernel, 1).signature, tuned_record(again, kernel, 1).signature);
  EXPECT_NE(tuned_record(first, kernel, 1).signature, tuned_record(other, kernel, 1).signature);
  EXPECT_NE(tuned_record(first, kernel, 1).signature,
            tuned_record(f32_gemm(), kernel, 1).signature);
}

TEST_F(Tuned, KernelsThatAreNoMoreAreLeftAlone) {
  const GemmArguments arguments = f32_gemm();
  {
    const Registered registered(ranked_class());
    TunedKernel tuned = record(arguments, 1);
    tuned.kernel = "fake-none";
    store(tuned);
    EXPECT_EQ(get_kernels(arguments).front().tuned_seconds(), std::nullopt);
    store(record(arguments, 1), true);
  }
  EXPECT_TRUE(get_kernels(arguments).empty());
}

TEST_F(Tuned, TheBetterEvidenceStays) {
  const Registered registered(ranked_class());
  TunedKernel known = record(f32_gemm(), 1);
  known.time = 100;
  store(known);
  TunedKernel other = known;
  other.kernel = record(f32_gemm(), 2).kernel;
  EXPECT_EQ(store(known).kept, 1U);
  other.rounds = 9;
  other.time = 200;
  EXPECT_EQ(store(other).kept, 1U) << "newer, of fewer rounds";
  other.rounds = 10;
  EXPECT_EQ(store(other).replaced, 1U) << "newer, of as many";
  EXPECT_EQ(store(known, true).replaced, 1U);
  EXPECT_THAT(tuned_kernels(), ElementsAre(known));
}

TEST_F(Tuned, GoToAnotherMachineAsAFile) {
  const Registered registered(ranked_class());
  TunedKernel first = record(f32_gemm(), 1);
  first.runner_up = "a \"runner\"\n";
  first.runner_up_seconds = 2;
  first.noise = 0.01;
  first.candidates = 7;
  first.predicted_seconds.reset();
  const TunedKernel second = record(f32_gemm(at_most(0)), 2);
  store_tuned(std::vector{first, second});
  const auto all = tuned_kernels();
  ASSERT_THAT(all, SizeIs(2));
  const std::string file = folder_ / "out.json";
  export_tuned(file);
  EXPECT_EQ(import_tuned(file).kept, 2U);
  use(folder_ / "other" / "new.db");
  EXPECT_EQ(import_tuned(file).added, 2U);
  EXPECT_EQ(tuned_kernels(), all);
  EXPECT_EQ(forget_all_tuned(), 2U);
  EXPECT_THAT(tuned_kernels(), IsEmpty());

  const std::string text = test::read_text(file);
  for (const auto& [from, to] : {std::pair("\"seconds\": 1e-06", "\"seconds\": -1"),
                                 {"\"swizzle\": 1", "\"swizzle\": 0"},
                                 {"\"raster\": \"m\"", "\"raster\": \"x\""},
                                 {"\"time\"", "\"tome\""},
                                 {"\"cc\": 0", "\"cc\": 1e99"},
                                 {"\"schema\": 1", "\"schema\": 2"},
                                 {"{", "[[[[[[[["}}) {
    std::string wrong = text;
    ASSERT_NE(wrong.find(from), std::string::npos) << from;
    wrong.replace(wrong.find(from), std::string(from).size(), to);
    test::write_text(file, wrong);
    EXPECT_NE(message_of(ErrorKind::value, [&] { import_tuned(file); }), "") << to;
  }
  EXPECT_THAT(tuned_kernels(), IsEmpty()) << "all or nothing";
  EXPECT_NE(message_of(ErrorKind::not_found, [&] { import_tuned(folder_ / "none"); }), "");
}

TEST_F(Tuned, RecordsThatMakeNoSenseAreRefused) {
  const Registered registered(ranked_class());
  TunedKernel tuned = record(f32_gemm(), 1);
  tuned.seconds = 0;
  EXPECT_EQ(message_of(ErrorKind::value, [&] { store(tuned); }),
            "record 1: seconds: expected more than 0, got 0");
}

TEST_F(Tuned, OffKeepsNothing) {
  const Registered registered(ranked_class());
  const TunedKernel tuned = record(f32_gemm(), 1);
  use("off");
  EXPECT_EQ(tuned_path(), "");
  EXPECT_THAT(tuned_kernels(), IsEmpty());
  EXPECT_EQ(find_tuned(f32_gemm()), std::nullopt);
  EXPECT_THAT(message_of(ErrorKind::io, [&] { store(tuned); }), HasSubstr("ESTOC_TUNED is off"));
}

/// get_kernels does without the records and says why in the log; the others throw.
void expect_unusable(const TunedKernel& tuned, const std::string& why, bool readable = false) {
  const Log log;
  clear_discovery_cache();
  EXPECT_EQ(get_kernels(f32_gemm()).front().tuned_seconds(),
            readable ? std::optional(tuned.seconds) : std::nullopt);
  if (!readable) {
    EXPECT_THAT(log.lines(), ElementsAre(HasSubstr(why)));
    EXPECT_THAT(message_of(ErrorKind::io, [] { (void)tuned_kernels(); }), HasSubstr(why));
  }
  EXPECT_THAT(message_of(ErrorKind::io, [&] { store_tuned(std::span(&tuned, 1), true); }),
              HasSubstr(why));
}

TEST_F(Tuned, ADamagedFileIsReportedAndDoneWithout) {
  const Registered registered(ranked_class());
  const TunedKernel tuned = record(f32_gemm(), 1);
  store(tuned);
  std::string text = test::read_text(tuned_path());
  text.replace(0, 6, "sqlate");
  test::write_text(tuned_path(), text);
  expect_unusable(tuned, "it is damaged or no database");
}

TEST_F(Tuned, AnyDamageGivesRecordsOrAnError) {
  const Registered registered(ranked_class());
  store(record(f32_gemm(), 1));
  const std::string whole = test::read_text(tuned_path());
  for (std::size_t at = 0; at < whole.size(); at += 37) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 0x55);
    test::write_text(folder_ / "damaged.db", text);
    use(folder_ / "damaged.db");
    EXPECT_THAT(get_kernels(f32_gemm()), SizeIs(4)) << "byte " << at;
  }
  test::write_text(folder_ / "damaged.db", whole.substr(0, whole.size() / 2));
  use(folder_ / "damaged.db");
  EXPECT_THAT(get_kernels(f32_gemm()), SizeIs(4));
}

TEST_F(Tuned, AFileOfALaterVersionIsLeftAlone) {
  const Registered registered(ranked_class());
  const TunedKernel tuned = record(f32_gemm(), 1);
  store(tuned);
  std::string text = test::read_text(tuned_path());
  text[63] = 9;  // user_version, which is big-endian
  test::write_text(tuned_path(), text);
  expect_unusable(tuned, "it is of a later version of Estoc");
  text[63] = 1;
  text[71] = 0;  // application_id
  test::write_text(tuned_path(), text);
  expect_unusable(tuned, "it is a database of another program");
}

TEST_F(Tuned, AFolderIsNoFile) {
  const Registered registered(ranked_class());
  const TunedKernel tuned = record(f32_gemm(), 1);
  use(folder_.path());
  expect_unusable(tuned, "cannot be opened");
}

TEST_F(Tuned, AFullDiskKeepsWhatThereWas) {
  const Registered registered(ranked_class());
  const test::TempFolder mounted;
  const auto outcome = test::run_on_tmpfs(mounted.path(), 40, false, [&](std::string& wrong) {
    use(mounted / "tuned.db");
    TunedKernel tuned = record(f32_gemm(), 1);
    store(tuned);
    std::vector<TunedKernel> many(500, tuned);
    for (std::size_t i = 0; i < many.size(); ++i)
      many[i].signature += std::to_string(i);
    wrong = "a full disk was not noticed";
    try {
      store_tuned(many);
    } catch (const Error& error) {
      wrong =
          std::string(error.what()).find("disk is full") == std::string::npos ? error.what() : "";
    }
    if (tuned_kernels() != std::vector{tuned}) wrong += "; the records are others now";
  });
  if (outcome == test::TmpfsOutcome::cannot_mount) GTEST_SKIP() << "mounts are not allowed";
  EXPECT_EQ(outcome, test::TmpfsOutcome::passed);
}

TEST_F(Tuned, AReadOnlyFolderIsReported) {
  const Registered registered(ranked_class());
  const test::TempFolder mounted;
  const TunedKernel tuned = record(f32_gemm(), 1);
  store(tuned);
  const auto outcome = test::run_on_tmpfs(mounted.path(), 400, true, [&](std::string& wrong) {
    use(mounted / "tuned.db");
    try {
      store(tuned);
      wrong = "a read-only folder was not noticed";
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) wrong = error.what();
    }
    if (!tuned_kernels().empty()) wrong += "; records from nowhere";
  });
  if (outcome == test::TmpfsOutcome::cannot_mount) GTEST_SKIP() << "mounts are not allowed";
  EXPECT_EQ(outcome, test::TmpfsOutcome::passed);
}

/// Runs `work` in a child process; true when it succeeds.
template <typename Work>
pid_t in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  bool ok = false;
  try {
    ok = work();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  ::_exit(ok ? 0 : 1);
}

bool succeeds(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(Tuned, ProcessesWriteAtOnceAndSeeEachOthersRecords) {
  const Registered registered(ranked_class());
  const TunedKernel base = record(f32_gemm(), 1);
  constexpr int kProcesses = 4;
  constexpr int kRecords = 25;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(in_child([&] {
      for (int i = 0; i < kRecords; ++i) {
        TunedKernel own = base;
        own.signature += std::to_string(process * kRecords + i);
        store(own);
      }
      return true;
    }));
  }
  for (const pid_t child : children)
    EXPECT_TRUE(succeeds(child));
  EXPECT_THAT(tuned_kernels(), SizeIs(kProcesses * kRecords));

  EXPECT_EQ(get_kernels(f32_gemm()).front().tuned_seconds(), std::nullopt);
  EXPECT_TRUE(succeeds(in_child([&] { return store(base).added == 1; })));
  EXPECT_TRUE(get_kernels(f32_gemm()).front().tuned_seconds()) << "a list that is not remembered";
}

TEST_F(Tuned, AFileIsReadWhileAnotherProcessMakesIt) {
  const Registered registered(ranked_class());
  const TunedKernel tuned = record(f32_gemm(), 1);
  for (int i = 0; i < 100; ++i) {
    use(folder_ / ("made" + std::to_string(i)));
    const pid_t child = in_child([&] { return store(tuned).added == 1; });
    std::string problem;
    const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    try {
      while (tuned_kernels().empty() && std::chrono::steady_clock::now() < patience)
        continue;
    } catch (const Error& error) {
      problem = error.what();
    }
    EXPECT_EQ(problem, "");
    EXPECT_TRUE(succeeds(child));
    EXPECT_THAT(tuned_kernels(), ElementsAre(tuned));
  }
}

/// Stores the one record and the other in turn until it goes.
class Storing {
 public:
  explicit Storing(std::vector<TunedKernel> records)
      : thread_([records = std::move(records)](const std::stop_token& stop) {
          for (std::size_t i = 0; !stop.stop_requested(); ++i)
            store_tuned(std::span(&records[i % records.size()], 1), true);
        }) {}

 private:
  std::jthread thread_;
};

TEST_F(Tuned, ThreadsQueryWhileOthersStore) {
  const Registered registered(ranked_class());
  const GemmArguments arguments = f32_gemm();
  const TunedKernel second = record(arguments, 1);
  const TunedKernel third = record(arguments, 2);
  store(second);
  const Storing storing({second, third});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const KernelList found = get_kernels(arguments);
        ASSERT_THAT(found, SizeIs(4));
        EXPECT_TRUE(found[0].tuned_seconds());
        EXPECT_TRUE(found[0].name() == second.kernel || found[0].name() == third.kernel);
        EXPECT_TRUE(find_tuned(arguments));
      }
    });
  }
}

TEST_F(Tuned, AChildReadsWhileAThreadOfItsParentStored) {
  const Registered registered(ranked_class());
  const TunedKernel tuned = record(f32_gemm(), 1);
  store(tuned);
  const Storing storing({tuned});
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(succeeds(in_child([&] { return tuned_kernels() == std::vector{tuned}; })));
}

}  // namespace
}  // namespace estoc::testing
