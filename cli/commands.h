// The commands: each adds itself to the application.
#pragma once

#include "options.h"

namespace estoc::cli {

void add_devices(CLI::App& app, Invocation& invocation);
void add_list(CLI::App& app, Invocation& invocation);
void add_find(CLI::App& app, Invocation& invocation);
void add_explain(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_check(CLI::App& app, Invocation& invocation);
void add_compile(CLI::App& app, Invocation& invocation);
void add_cache(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_tune(CLI::App& app, Invocation& invocation);
void add_completion(CLI::App& app, Invocation& invocation);

}  // namespace estoc::cli
