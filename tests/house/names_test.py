#!/usr/bin/env python3
"""What scripts/check_names must find in small sources, and what it must leave alone."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_names"
loader = importlib.machinery.SourceFileLoader("check_names", str(SCRIPT))
check_names = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_names", loader))
sys.modules["check_names"] = check_names
loader.exec_module(check_names)


def names_in(text):
    return check_names.Reader(text).names


def clashes(first, second):
    files = {"src/a/first.cpp": names_in(first), "src/b/second.cpp": names_in(second)}
    return list(check_names.find_clashes(files))


def local_clashes(first_path, second_path, text):
    return list(check_names.find_local_clashes({first_path: names_in(text), second_path: names_in(text)}))


def misplaced(path, text):
    return list(check_names.find_misplaced({path: names_in(text)}))


def exposed(source, header=""):
    declared = check_names.Reader(header, is_header=True).names
    return list(check_names.find_exposed({"src/a/a.cpp": names_in(source), "src/a/a.h": declared}))


class LocalClashes(unittest.TestCase):
    LOCAL = "namespace assay { namespace { struct Pass { int a = 0; }; } }"

    def test_two_files_of_one_folder(self):
        self.assertEqual(1, len(local_clashes("src/a/first.cpp", "src/a/deep/second.cpp", self.LOCAL)))

    def test_two_files_of_one_test_program(self):
        self.assertEqual(1, len(local_clashes("tests/a/first.cpp", "tests/a/second.cpp", self.LOCAL)))

    def test_aliases_may_be_repeated(self):
        alias = "namespace assay { namespace { using Lengths = std::vector<int>; } }"
        self.assertEqual([], local_clashes("src/a/first.cpp", "src/a/second.cpp", alias))

    def test_files_of_two_folders_are_never_compiled_together(self):
        self.assertEqual([], local_clashes("src/a/first.cpp", "src/b/second.cpp", self.LOCAL))

    def test_files_with_flags_of_their_own_are_compiled_alone(self):
        self.assertEqual([], local_clashes("src/machine/peaks/a.cpp", "src/machine/peaks/b.cpp", self.LOCAL))


class Clashes(unittest.TestCase):
    def assert_clash(self, first, second, name):
        self.assertEqual([f"src/b/second.cpp:1: {name} is also defined in src/a/first.cpp:1"], clashes(first, second))

    def test_two_structs_of_one_name(self):
        self.assert_clash("namespace assay { struct Pass { int a = 0; }; }",
                          "namespace assay { struct Pass { double b; }; }", "assay::Pass")

    def test_struct_and_class_however_the_namespace_is_written(self):
        self.assert_clash("namespace assay::graph { class Pass final : public Base {}; }",
                          "namespace assay { namespace graph { struct Pass {}; } }", "assay::graph::Pass")

    def test_enum_and_alias(self):
        self.assert_clash("enum class Kind : std::uint8_t { One, Two };", "using Kind = int;", "Kind")
        self.assert_clash("typedef std::map<int, int> Kind;", "enum Kind { One };", "Kind")

    def test_nested_classes(self):
        self.assert_clash("class A { public: struct B { int c; }; };", "struct A::B { };", "A::B")

    def test_templates(self):
        self.assertEqual(2, len(clashes("template <typename T, int n = (1 > 0)> struct Box { T all[n]; T get() { return all[0]; } };",
                                        "template <class T> requires std::integral<T> struct Box { T get() { return {}; } };")))

    def test_functions_with_equal_parameters(self):
        self.assert_clash("int twice(const Node& node, int by = 2) { return by; }",
                          "auto twice(const Node& other, int) -> int { return 1; }", "twice(const Node &, int)")

    def test_function_templates_and_members(self):
        self.assert_clash("template <typename T> T twice(T x) { return x + x; }",
                          "template <typename T> [[nodiscard]] inline T twice(T y) { return 2 * y; }", "twice(T)")
        self.assert_clash("A::A(int n) : a_{n}, b_(n) { go(); }", "A::A(int m) : a_(m), b_{m} {}", "A::A(int)")
        self.assert_clash("bool A::operator==(const A& b) const { return true; }",
                          "bool A::operator==(const A& c) const { return false; }", "A::operator==(const A &)")

    def test_variables(self):
        self.assert_clash("int counter = 0;", "int counter;", "counter")
        self.assert_clash("std::vector<int> table{1, 2};", "inline constexpr int table = 3;", "table")

    def test_a_clash_behind_text_that_looks_like_code(self):
        self.assertEqual(1, len(clashes(
            'const char* a = R"x(struct { ")x"; // struct {\nchar b = \'{\'; /* } */ int n = 1\'000;\nstruct Late {};',
            "\n#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\nstruct Late {};")))


class NoClashes(unittest.TestCase):
    def assert_no_clash(self, first, second):
        self.assertEqual([], clashes(first, second))

    def test_other_namespaces(self):
        self.assert_no_clash("namespace assay::a { struct S {}; }", "namespace assay::b { struct S {}; }")

    def test_anonymous_namespaces_and_static(self):
        self.assert_no_clash("namespace assay { namespace { struct S {}; void f() {} } }",
                             "namespace assay { namespace { struct S {}; void f() {} } }")
        self.assert_no_clash("static int f() { return 1; }", "static int f() { return 2; }")
        self.assert_no_clash("constexpr int kMost = 1; const int few = 2;", "constexpr int kMost = 3; const int few = 4;")

    def test_declarations(self):
        self.assert_no_clash("struct S {}; enum class E { A }; int f(int n) { return n; } int x = 1;",
                             "struct S; enum class E; int f(int); extern int x; class T { friend struct S; };")

    def test_overloads_and_specialisations(self):
        self.assert_no_clash("void f(int n) {} template <> struct H<int> {};",
                             "void f(double n) {} template <> struct H<double> {};")

    def test_members_of_different_classes_and_locals_of_functions(self):
        self.assert_no_clash("struct A { struct In {}; void go() { struct S {}; } };",
                             "struct B { struct In {}; void go() { struct S {}; } };")

    def test_names_that_are_only_used(self):
        self.assert_no_clash("struct S {};", "struct S make(struct S s) { return S{}; } S g = make({}); using std::S;")


class Places(unittest.TestCase):
    def test_private_headers_declare_nothing_directly_in_assay(self):
        self.assertEqual(["src/graph/a.h:2: assay::f belongs in a namespace of its folder, such as assay::graph"],
                         misplaced("src/graph/a.h", "namespace assay {\nint f(int n);\n}"))
        self.assertEqual(1, len(misplaced("src/graph/a.h", "namespace assay { struct S { int member; }; }")))

    def test_private_headers_use_their_folders_namespace(self):
        self.assertEqual([], misplaced("src/graph/a.h", "namespace assay::graph { int f(); struct S { int g(); }; }"))

    def test_base_and_public_headers_may(self):
        for path in ("src/base/a.h", "include/assay/a.h", "src/graph/a.cpp"):
            self.assertEqual([], misplaced(path, "namespace assay { struct S {}; }"))

    def test_what_one_source_file_knows_is_in_an_anonymous_namespace(self):
        self.assertEqual(["src/a/a.cpp:1: assay::S is declared in no header: put it into an anonymous namespace"],
                         exposed("namespace assay { struct S {}; }"))
        self.assertEqual(1, len(exposed("namespace assay { void f() {} }")))
        self.assertEqual(1, len(exposed("namespace assay { template <typename T> void f(T t) {} }")))
        self.assertEqual(1, len(exposed("namespace assay { int counter = 0; }")))

    def test_what_a_header_declares_is_defined_anywhere(self):
        self.assertEqual([], exposed("namespace assay { struct S {}; int n = 1; struct A::Hidden {}; }",
                                     "namespace assay { struct S; extern int n; class A { struct Hidden; }; }"))
        self.assertEqual([], exposed("namespace assay { namespace { struct S {}; void f() {} } static void g() {} }"))
        self.assertEqual([], exposed("namespace assay { void f() try { g(); } catch (...) { h(); } }",
                                     "namespace assay {\n#if A\nvoid e();\n#else\nvoid f();\n#endif\n}"))


if __name__ == "__main__":
    unittest.main()
