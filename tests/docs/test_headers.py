#!/usr/bin/env python3
"""What the site's reference reads of public headers: declarations, documentation, what it leaves out.

Usage: test_headers.py SOURCE_DIR
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "site"))

import headers  # noqa: E402

CPP = """// What this is for.
#pragma once

#define MAKE(name, op) /// a body in lines
#define UNARY(name, op) \\
  inline Value name(const Value& x) { return make(op, x); }

namespace estoc {

class Later;

/// A point, in
/// `two` lines.
struct alignas(16) Point final : Base<int, 3> {
  enum class Kind : int { one, two = f(1, 2) };  // not documentation
  int m = 1, n{2};                               ///< the extents
  std::map<int, std::pair<int, int>> table{};
  void (*call)(int x) = nullptr;
  /// Adds.
  [[nodiscard]] Point operator+(const Point& other) const { return {m + other.m}; }
  explicit Point(int given, const char* text = "};") : m(given), n{3} { check("}"); }
  Point(const Point&) = delete;
  ~Point();
  friend class Later;

 private:
  int hidden_ = 0;
};

UNARY(negated, op_neg)
inline int Point::late() const { return 0; }
/// The largest.
inline constexpr std::array<int, 2> kTable{{1, 2}};
using Names = std::vector<std::string>;
template <class T>
concept Number = requires(T t) { t + 1; };

}  // namespace estoc
"""
C = """/* Texts. */
#ifdef __cplusplus
extern "C" {
#endif
/* NOLINTBEGIN: C */
/* A list. */
typedef struct names names;
typedef struct info {
  const char* name; /* NULL: none,
                       or unknown */
} info;
/* Called. */
typedef int (*progress)(void* context);
/* Counts. */
ESTOC_API size_t count(const names* list);
#ifdef __cplusplus
}
#endif
"""


def flat(declarations):
    return {one.text: one for one in declarations}


class Headers(unittest.TestCase):
    def test_cpp(self):
        header = headers.read_text(CPP)
        self.assertEqual(header.opening, "What this is for.")
        found = flat(header.declarations)
        self.assertEqual(
            [(one.kind, one.text) for one in header.declarations],
            [
                ("struct", "Point final : Base<int, 3>"),
                ("function", "Value negated(const Value& x)"),
                ("variable", "constexpr std::array<int, 2> kTable{{1, 2}}"),
                ("type", "Names = std::vector<std::string>"),
                ("concept", "template <class T> Number"),
            ],
        )
        point = found["Point final : Base<int, 3>"]
        self.assertEqual(point.doc, "A point, in\n`two` lines.")
        members = flat(point.members)
        self.assertEqual(
            [(one.kind, one.text) for one in point.members],
            [
                ("enum class", "Kind : int"),
                ("variable", "int m = 1"),
                ("variable", "int n{2}"),
                ("variable", "std::map<int, std::pair<int, int>> table"),
                ("variable", "void (*call)(int x) = nullptr"),
                ("function", "Point operator+(const Point& other) const"),
                ("function", 'explicit Point(int given, const char* text = "};")'),
            ],
        )
        self.assertEqual(members["int n{2}"].doc, "the extents")
        self.assertEqual([one.text for one in members["Kind : int"].members], ["one", "two = f(1, 2)"])
        self.assertEqual(members["Point operator+(const Point& other) const"].doc, "Adds.")

    def test_c(self):
        found = flat(headers.read_text(C).declarations)
        self.assertEqual(list(found), ["names", "info", "int (*progress)(void* context)",
                                       "size_t count(const names* list)"])  # fmt: skip
        self.assertEqual(found["names"].doc, "A list.")
        self.assertEqual(found["size_t count(const names* list)"].doc, "Counts.")
        (name,) = found["info"].members
        self.assertEqual((name.text, name.doc), ("const char* name", "NULL: none,\nor unknown"))

    def test_public_headers(self):
        """Each is read whole, and what classes have is found."""
        include = ROOT / "include"
        read = {
            path.relative_to(include).as_posix(): headers.read_header(path, include)
            for path in [*include.rglob("*.hpp"), *include.rglob("*.h")]
        }
        for name, header in read.items():
            self.assertTrue(header.opening, name)
        arguments = flat(read["estoc/arguments.hpp"].declarations)
        gemm = arguments["GemmArguments final : public RuntimeArguments"]
        self.assertIn("const GemmExtents& extents() const", flat(gemm.members))
        (dtype,) = (one for one in read["estoc/dtype.hpp"].declarations if "Dtype :" in one.text)
        self.assertEqual([one.text for one in dtype.members][:2], ["f64", "f32"])
        operation = flat(read["estoc/epilogue_graph.hpp"].declarations)["EpilogueOp : std::uint8_t"]
        self.assertEqual(flat(operation.members)["literal"].doc, "`value`")
        epilogue = flat(read["estoc/epilogue.hpp"].declarations)
        self.assertIn("EpilogueValue mish(const EpilogueValue& x)", epilogue)
        self.assertNotIn("EpilogueValue cast(const EpilogueValue& x)", epilogue)
        status = flat(read["estoc/c/base.h"].declarations)["estoc_status"]
        self.assertIn("ESTOC_OK = 0", flat(status.members))


if __name__ == "__main__":
    unittest.main()
