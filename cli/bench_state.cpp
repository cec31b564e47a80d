// Keeps finished problems in a file, so that an interrupted command can go on.
#include "bench_state.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "bench_run.h"
#include "estoc/text_file.hpp"
#include "failure.h"

namespace estoc::cli {
namespace {

constexpr const char* kStateHint =
    "--resume takes a file that 'estoc bench --resume' wrote, or one that does not exist yet";
constexpr const char* kStateMark = "estoc_bench";

Json header_of(const BenchOptions& options, Target target) {
  return {{kStateMark, 1},
          {"device", surroundings_of(target).device},
          {"target", target.name()},
          {"provider", options.query.providers},
          {"filter", options.query.filter},
          {"kernel", options.kernels},
          {"top", options.top},
          {"against", options.against},
          {"rounds", rounds_of(options)},
          {"max_noise", options.max_noise},
          {"seconds", options.seconds},
          {"sustained", options.sustained},
          {"threads", options.threads},
          {"seed", options.seed}};
}

void require_same(const std::string& path, const Json& was, const Json& is) {
  for (const auto& [name, value] : is.items()) {
    const Json before = was.value(name, Json());
    if (before == value) continue;
    throw Failure(Exit::usage,
                  fmt::format("{}: holds figures taken with {} = {}, got {}", path, name,
                              dump_line(before), dump_line(value)),
                  "give the same options as before, or another file");
  }
}

}  // namespace

BenchState::BenchState(const BenchOptions& options, Target target) : path_(options.resume) {
  if (path_.empty()) return;
  const Json header = header_of(options, target);
  text_ = dump_line(header) + '\n';
  if (!std::filesystem::exists(path_)) return;
  std::ifstream file(path_);
  if (!file) throw Failure(Exit::file, path_ + ": cannot be read", kStateHint);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const Json json = Json::parse(line, nullptr, false);
    try {
      if (number == 1) {
        if (!json.is_object() || !json.contains(kStateMark)) throw std::runtime_error("no header");
        require_same(path_, json, header);
        continue;
      }
      BenchRecord record = record_from_json(json);
      done_.insert_or_assign(record.problem, std::move(record));
      text_ += line + '\n';
    } catch (const Failure&) {
      throw;
    } catch (const std::exception&) {
      throw Failure(
          Exit::file,
          fmt::format("{}:{}: expected a result of estoc bench, got something else", path_, number),
          kStateHint);
    }
  }
  if (file.bad()) throw Failure(Exit::file, path_ + ": cannot be read", kStateHint);
}

const BenchRecord* BenchState::find(const std::string& problem) const {
  const auto found = done_.find(problem);
  return found == done_.end() ? nullptr : &found->second;
}

void BenchState::add(const BenchRecord& record) {
  if (path_.empty()) return;
  text_ += dump_line(to_json(record)) + '\n';
  about_file(kStateHint, [&] { save_text(path_, text_); });
}

}  // namespace estoc::cli
