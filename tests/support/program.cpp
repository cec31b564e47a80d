// Reads the options of the programs of the tests with CLI11.
#include "support/program.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <stdexcept>

namespace estoc::testing_support {

struct Program::Parser : CLI::App {
  using App::App;
};

Program::Program(const std::string& name, const std::string& purpose, const std::string& footer)
    : app_(std::make_unique<Parser>(purpose, name)) {
  app_->footer(footer);
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

Program::~Program() = default;

Program& Program::flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
  return *this;
}

Program& Program::text(const std::string& name, std::string& value, const std::string& help) {
  app_->add_option(name, value, help)->type_name("TEXT");
  return *this;
}

Program& Program::each(const std::string& name, const std::function<void(const std::string&)>& take,
                       const std::string& help) {
  app_->add_option_function<std::vector<std::string>>(
          name,
          [take](const std::vector<std::string>& values) {
            for (const std::string& value : values)
              take(value);
          },
          help)
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Program& Program::number(const std::string& name, const std::function<void(std::uint64_t)>& take,
                         const std::string& help, std::uint64_t least) {
  const auto read = [name, take, least](const std::string& text) {
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last || value < least) {
      throw std::invalid_argument(name + " takes a whole number of at least " +
                                  std::to_string(least) + ", got " + text);
    }
    take(value);
  };
  app_->add_option_function<std::string>(name, read, help)->type_name("N");
  return *this;
}

int Program::run(int argc, char** argv, const std::function<int()>& body) {
  const auto complain = [this](const std::exception& error, int status) {
    std::fprintf(stderr, "%s: %s\n", app_->get_name().c_str(), error.what());
    return status;
  };
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app_->exit(help);
  } catch (const std::exception& error) {
    return complain(error, kBadUsage);
  }
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    return complain(error, kBadUsage);
  } catch (const std::exception& error) {
    return complain(error, kFailed);
  }
}

}  // namespace estoc::testing_support
