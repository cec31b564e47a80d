// The copies of the product file share no code: what they define is named after the variant.
//
// An inline function that two copies define under one name would be merged by the linker, and an
// old processor would meet instructions it does not have.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Symbol {
  char type;
  std::string name;
};

struct Object {
  std::string variant;
  std::string path;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

/// "v2=/path/to/object:v3=..." from the build.
std::vector<Object> variant_objects() {
  std::vector<Object> objects;
  for (const std::string& entry : split(ESTOC_CPU_OBJECTS, ':')) {
    const std::size_t equals = entry.find('=');
    objects.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
  }
  return objects;
}

/// The symbols with a definition in `path` that other objects can see.
std::vector<Symbol> defined_symbols(const std::string& path) {
  const std::string command = "nm --defined-only --extern-only '" + path + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<Symbol> symbols;
  std::array<char, 4096> line{};
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::istringstream stream(line.data());
    std::string address;
    Symbol symbol;
    stream >> address >> symbol.type >> symbol.name;
    symbols.push_back(symbol);
  }
  return symbols;
}

/// With sanitizers there is one variant, and its objects define names for the sanitizer too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

/// Pointers to the personality routine of exceptions: data that is equal in every object.
bool is_tolerated(const Symbol& symbol) {
  return symbol.name.starts_with("DW.ref.");
}

/// The mangled name of a namespace.
std::string mangled(const std::string& name) {
  return std::to_string(name.size()) + name;
}

TEST(CpuSymbols, EachVariantDefinesOnlyNamesOfItsOwn) {
  if (kIsSanitized) GTEST_SKIP() << "there is one variant";
  const std::vector<Object> objects = variant_objects();
  ASSERT_FALSE(objects.empty());
  for (const Object& object : objects) {
    const std::vector<Symbol> symbols = defined_symbols(object.path);
    ASSERT_FALSE(symbols.empty()) << object.path;
    const std::string eigen = mangled("Eigen_" + object.variant);
    const std::string own = "5estoc3cpu" + mangled(object.variant);
    for (const Symbol& symbol : symbols) {
      const bool is_own = symbol.name.find(own) != std::string::npos;
      const bool is_eigen = symbol.name.find(eigen) != std::string::npos;
      EXPECT_TRUE(is_own || is_eigen || is_tolerated(symbol))
          << object.variant << " defines " << symbol.type << " " << symbol.name;
    }
  }
}

TEST(CpuSymbols, NoTwoVariantsDefineTheSame) {
  if (kIsSanitized) GTEST_SKIP() << "there is one variant";
  std::map<std::string, std::string> owner;
  for (const Object& object : variant_objects()) {
    for (const Symbol& symbol : defined_symbols(object.path)) {
      if (is_tolerated(symbol)) continue;
      const auto [place, is_new] = owner.emplace(symbol.name, object.variant);
      EXPECT_TRUE(is_new) << symbol.name << " is in " << place->second << " and " << object.variant;
    }
  }
}

TEST(CpuSymbols, EveryVariantIsThere) {
#ifndef ESTOC_CPU_ONLY
  EXPECT_EQ(variant_objects().size(), 2 * 3U);
#else
  EXPECT_EQ(variant_objects().size(), 2 * 1U);
#endif
}

}  // namespace
