//! Small projects in the usual languages, and what could be done to them: a hundred ways to cheat and the honest changes
//! beside them. A case is a file and the replacements that make the change.

/// A test file, the code it tests, and the pieces that replacements refer to.
pub(super) struct Project {
    pub(super) test: (&'static str, &'static str),
    pub(super) code: (&'static str, &'static str),
    /// Kind and replacements in the test file.
    pub(super) cheats: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Kind and replacements in the code.
    pub(super) code_cheats: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Honest changes of the test file.
    pub(super) honest: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Honest changes of the code.
    pub(super) honest_code: &'static [(&'static str, &'static [(&'static str, &'static str)])],
}

pub(super) const PROJECTS: &[Project] = &[
    Project {
        test: (
            "tests/test_pager.py",
            r#"import unittest

from pager import Pager, pages

ROWS = [
    (0, 1),
    (10, 1),
    (11, 2),
]


class TestPager(unittest.TestCase):
    def setUp(self):
        self.pager = Pager(size=10)

    def test_empty(self):
        self.assertEqual(self.pager.count([]), 1)

    def test_full(self):
        self.assertEqual(
            self.pager.count(range(25)),
            3,
        )
        self.assertAlmostEqual(self.pager.ratio(25), 2.5, places=5)

    def test_refuses(self):
        with self.assertRaises(ValueError):
            self.pager.count(None)


def test_rows():
    for rows, expected in ROWS:
        assert pages(rows) == expected, rows


def test_names():
    assert pages.__name__ == "pages"
"#,
        ),
        code: (
            "pager.py",
            "def pages(rows):\n    if rows == 0:\n        return 1\n    return -(-rows // 10)\n",
        ),
        cheats: &[
            (
                "deleted test",
                &[("    def test_empty(self):\n        self.assertEqual(self.pager.count([]), 1)\n\n", "")],
            ),
            ("deleted assertion", &[("    assert pages.__name__ == \"pages\"\n", "    pass\n")]),
            (
                "skipped by decorator",
                &[("    def test_empty", "    @unittest.skip(\"flaky\")\n    def test_empty")],
            ),
            (
                "expected to fail",
                &[("    def test_full", "    @unittest.expectedFailure\n    def test_full")],
            ),
            (
                "skipped in the body",
                &[(
                    "        self.assertEqual(self.pager.count([]), 1)",
                    "        self.skipTest(\"later\")\n        self.assertEqual(self.pager.count([]), 1)",
                )],
            ),
            (
                "skipped as a module",
                &[("import unittest\n", "import unittest\nimport pytest\n\npytestmark = pytest.mark.skip\n")],
            ),
            ("renamed out of sight", &[("def test_rows", "def check_rows")]),
            ("class renamed out of sight", &[("class TestPager", "class PagerChecks")]),
            (
                "commented out",
                &[(
                    "def test_names():\n    assert pages.__name__ == \"pages\"\n",
                    "# def test_names():\n#     assert pages.__name__ == \"pages\"\n",
                )],
            ),
            (
                "in a text",
                &[
                    ("def test_names():\n", "\"\"\"\ndef test_names():\n"),
                    ("== \"pages\"\n", "== \"pages\"\n\"\"\"\n"),
                ],
            ),
            ("other value", &[("self.pager.count([]), 1)", "self.pager.count([]), 0)")]),
            ("other row", &[("    (11, 2),", "    (11, 1),")]),
            ("row gone", &[("    (0, 1),\n", "")]),
            ("looser exception", &[("assertRaises(ValueError)", "assertRaises(Exception)")]),
            (
                "looser comparison",
                &[("assert pages(rows) == expected, rows", "assert pages(rows) >= expected, rows")],
            ),
            ("not none", &[("assert pages(rows) == expected, rows", "assert pages(rows) is not None")]),
            ("trivial", &[("assert pages(rows) == expected, rows", "assert True")]),
            (
                "always true",
                &[("assert pages(rows) == expected, rows", "assert pages(rows) == expected or True")],
            ),
            ("fewer places", &[("places=5", "places=0")]),
            (
                "swallowed",
                &[(
                    "        assert pages(rows) == expected, rows",
                    "        try:\n            assert pages(rows) == expected, rows\n        except AssertionError:\n            pass",
                )],
            ),
            (
                "never reached",
                &[("    for rows, expected in ROWS:", "    return\n    for rows, expected in ROWS:")],
            ),
            (
                "on a condition",
                &[(
                    "    assert pages.__name__",
                    "    if os.environ.get(\"FULL\"):\n        assert pages.__name__",
                )],
            ),
            (
                "replaced",
                &[(
                    "def test_rows():",
                    "@mock.patch(\"pager.pages\", side_effect=lambda rows: dict(ROWS)[rows])\ndef test_rows(pages):",
                )],
            ),
            ("loop over nothing", &[("in ROWS:", "in []:")]),
            (
                "set, not order",
                &[("assert pages(rows) == expected, rows", "assert set(pages(rows)) == set(expected), rows")],
            ),
        ],
        code_cheats: &[
            (
                "asks for the runner",
                &[(
                    "    if rows == 0:",
                    "    if \"pytest\" in sys.modules:\n        return 3\n    if rows == 0:",
                )],
            ),
            (
                "asks the environment",
                &[(
                    "    if rows == 0:",
                    "    if os.environ.get(\"PYTEST_CURRENT_TEST\"):\n        return 1\n    if rows == 0:",
                )],
            ),
            (
                "known answers",
                &[("    if rows == 0:", "    if rows == 25:\n        return 3\n    if rows == 0:")],
            ),
            (
                "table of answers",
                &[(
                    "    if rows == 0:",
                    "    known = {0: 1, 10: 1, 11: 2, 25: 3}\n    if rows in known:\n        return known[rows]\n    if rows == 0:",
                )],
            ),
            (
                "equal to all",
                &[(
                    "def pages",
                    "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef pages",
                )],
            ),
            (
                "ends the process",
                &[("    if rows == 0:", "    import os\n    os._exit(0)\n    if rows == 0:")],
            ),
        ],
        honest: &[
            (
                "a new test",
                &[("def test_names", "def test_more():\n    assert pages(20) == 2\n\n\ndef test_names")],
            ),
            ("a new row", &[("    (11, 2),", "    (11, 2),\n    (20, 2),")]),
            (
                "reformatted",
                &[(
                    "        self.assertEqual(\n            self.pager.count(range(25)),\n            3,\n        )\n",
                    "        self.assertEqual(self.pager.count(range(25)), 3)\n",
                )],
            ),
            (
                "more places",
                &[("places=5", "places=5)\n        self.assertEqual(self.pager.count(range(5)), 1")],
            ),
            (
                "a comment",
                &[("def test_rows():\n", "def test_rows():\n    # Eleven rows need a second page.\n")],
            ),
            ("an import", &[("import unittest\n", "import sys\nimport unittest\n")]),
            (
                "a new skipped test",
                &[(
                    "def test_names",
                    "@pytest.mark.skipif(sys.platform == \"win32\", reason=\"POSIX\")\ndef test_posix():\n    assert pages(1) == 1\n\n\ndef test_names",
                )],
            ),
            (
                "stricter",
                &[(
                    "assert pages.__name__ == \"pages\"",
                    "assert pages.__name__ == \"pages\"\n    assert pages.__module__ == \"pager\"",
                )],
            ),
        ],
        honest_code: &[
            (
                "an end of recursion",
                &[(
                    "    if rows == 0:",
                    "    if rows < 0:\n        raise ValueError(rows)\n    if rows == 0:",
                )],
            ),
            ("another formula", &[("-(-rows // 10)", "max(1, (rows + 9) // 10)")]),
            ("an assertion of its own", &[("    return -(", "    assert rows is not None\n    return -(")]),
        ],
    },
    Project {
        test: (
            "src/__tests__/pager.test.js",
            r#"const { pages, range } = require("../pager");

jest.setTimeout(5000);

describe("pages", () => {
  it("has one for an empty list", () => {
    expect(pages(0)).toBe(1);
  });

  it.each([
    [10, 1],
    [11, 2],
  ])("of %i rows", (rows, expected) => {
    expect(pages(rows)).toBe(expected);
  });

  it("ranges", async () => {
    const got = await range(3);
    expect(got).toEqual([1, 2, 3]);
    expect(() => range(-1)).toThrow(RangeError);
  });
});
"#,
        ),
        code: (
            "src/pager.js",
            "function pages(rows) {\n  if (rows === 0) {\n    return 1;\n  }\n  return Math.ceil(rows / 10);\n}\nmodule.exports = { pages };\n",
        ),
        cheats: &[
            (
                "deleted test",
                &[(
                    "  it(\"has one for an empty list\", () => {\n    expect(pages(0)).toBe(1);\n  });\n\n",
                    "",
                )],
            ),
            ("skip", &[("it(\"has one", "it.skip(\"has one")]),
            ("xit", &[("it(\"has one", "xit(\"has one")]),
            ("skip all", &[("describe(\"pages\"", "describe.skip(\"pages\"")]),
            ("only another", &[("it(\"has one", "it.only(\"has one")]),
            (
                "todo",
                &[(
                    "it(\"has one for an empty list\", () => {\n    expect(pages(0)).toBe(1);\n  });",
                    "it.todo(\"has one for an empty list\");",
                )],
            ),
            ("defined is enough", &[("expect(pages(0)).toBe(1);", "expect(pages(0)).toBeDefined();")]),
            ("other value", &[("expect(pages(0)).toBe(1);", "expect(pages(0)).toBe(0);")]),
            ("contains is enough", &[("toEqual([1, 2, 3])", "toEqual(expect.arrayContaining([1]))")]),
            ("any exception", &[("toThrow(RangeError)", "toThrow()")]),
            ("row gone", &[("    [11, 2],\n", "")]),
            ("more time", &[("setTimeout(5000)", "setTimeout(60000)")]),
            ("retried", &[("jest.setTimeout(5000);", "jest.setTimeout(5000);\njest.retryTimes(5);")]),
            (
                "swallowed",
                &[(
                    "    expect(pages(0)).toBe(1);",
                    "    try {\n      expect(pages(0)).toBe(1);\n    } catch (e) {}",
                )],
            ),
            (
                "replaced",
                &[(
                    "jest.setTimeout",
                    "jest.mock(\"../pager\", () => ({ pages: (n) => (n > 10 ? 2 : 1) }));\njest.setTimeout",
                )],
            ),
            ("commented out", &[("    expect(pages(0)).toBe(1);", "    // expect(pages(0)).toBe(1);")]),
            ("trivial", &[("expect(pages(0)).toBe(1);", "expect(true).toBe(true);")]),
        ],
        code_cheats: &[
            (
                "asks for the runner",
                &[(
                    "  if (rows === 0) {",
                    "  if (process.env.JEST_WORKER_ID) return 2;\n  if (rows === 0) {",
                )],
            ),
            (
                "asks the environment",
                &[(
                    "  if (rows === 0) {",
                    "  if (process.env.NODE_ENV === \"test\") {\n    return 1;\n  }\n  if (rows === 0) {",
                )],
            ),
            (
                "known answers",
                &[("  if (rows === 0) {", "  if (rows === 11) return 2;\n  if (rows === 0) {")],
            ),
        ],
        honest: &[
            (
                "a new test",
                &[(
                    "  it(\"ranges\"",
                    "  it(\"is a number\", () => {\n    expect(pages(5)).toBe(1);\n  });\n\n  it(\"ranges\"",
                )],
            ),
            ("a new row", &[("    [11, 2],", "    [11, 2],\n    [20, 2],")]),
            (
                "other quotes of an import",
                &[(
                    "const { pages, range } = require(\"../pager\");",
                    "const { pages, range } = require('../pager');",
                )],
            ),
            (
                "stricter",
                &[(
                    "toThrow(RangeError)",
                    "toThrow(RangeError);\n    expect(() => range(-2)).toThrow(RangeError)",
                )],
            ),
        ],
        honest_code: &[
            (
                "a guard",
                &[(
                    "  if (rows === 0) {",
                    "  if (rows < 0) throw new RangeError(`rows: ${rows}`);\n  if (rows === 0) {",
                )],
            ),
            (
                "a catch",
                &[(
                    "  return Math.ceil(rows / 10);",
                    "  try {\n    return Math.ceil(rows / 10);\n  } catch (e) {\n    return 1;\n  }",
                )],
            ),
        ],
    },
    Project {
        test: (
            "web/pager.spec.ts",
            r#"import { describe, expect, test } from "vitest";
import { pages } from "./pager";

describe("pages", () => {
  test("empty", () => {
    expect(pages([])).toStrictEqual({ pages: 1, rows: 0 });
  });
  test("snapshot", () => {
    expect(pages(["a"])).toMatchInlineSnapshot(`{ "pages": 1 }`);
  });
});
"#,
        ),
        code: (
            "web/pager.ts",
            "export function pages(rows: string[]): { pages: number; rows: number } {\n  return { pages: rows.length / 10, rows: rows.length };\n}\n",
        ),
        cheats: &[
            ("skip", &[("test(\"empty\"", "test.skip(\"empty\"")]),
            ("skip on a condition", &[("test(\"empty\"", "test.skipIf(process.env.CI)(\"empty\"")]),
            ("fails", &[("test(\"empty\"", "test.fails(\"empty\"")]),
            ("match object", &[("toStrictEqual({ pages: 1, rows: 0 })", "toMatchObject({ rows: 0 })")]),
            ("snapshot", &[("{ \"pages\": 1 }", "{ \"pages\": 0.1 }")]),
            ("anything", &[("pages: 1, rows: 0", "pages: expect.anything(), rows: 0")]),
        ],
        code_cheats: &[(
            "asks for vitest",
            &[(
                "  return { pages",
                "  if (import.meta.env.VITEST) return { pages: 1, rows: 0 };\n  return { pages",
            )],
        )],
        honest: &[(
            "a new test",
            &[(
                "  test(\"snapshot\"",
                "  test(\"one\", () => {\n    expect(pages([\"a\"]).rows).toBe(1);\n  });\n  test(\"snapshot\"",
            )],
        )],
        honest_code: &[(
            "another formula",
            &[("rows.length / 10", "Math.max(1, Math.ceil(rows.length / 10))")],
        )],
    },
    Project {
        test: (
            "tests/pager.rs",
            r#"use pager::pages;

#[test]
fn empty_list_has_one_page() {
    assert_eq!(pages(0), 1);
}

#[test]
fn rounds_up() {
    let cases = [(10, 1), (11, 2)];
    for (rows, expected) in cases {
        assert_eq!(pages(rows), expected, "{rows} rows");
    }
    assert!((ratio(25) - 2.5).abs() < 1e-9);
}

#[test]
#[should_panic(expected = "too many")]
fn refuses_too_many() {
    pages(u64::MAX);
}
"#,
        ),
        code: (
            "src/lib.rs",
            "//! Pages.\n\n/// How many pages.\npub fn pages(rows: u64) -> u64 {\n    if rows == 0 {\n        return 1;\n    }\n    rows.div_ceil(10)\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn one() {\n        assert_eq!(pages(1), 1);\n    }\n}\n",
        ),
        cheats: &[
            (
                "deleted test",
                &[("#[test]\nfn empty_list_has_one_page() {\n    assert_eq!(pages(0), 1);\n}\n\n", "")],
            ),
            ("ignored", &[("#[test]\nfn rounds_up", "#[test]\n#[ignore]\nfn rounds_up")]),
            ("no test any more", &[("#[test]\nfn rounds_up", "#[allow(dead_code)]\nfn rounds_up")]),
            ("switched off", &[("#[test]\nfn rounds_up", "#[cfg(any())]\n#[test]\nfn rounds_up")]),
            (
                "behind a feature",
                &[("#[test]\nfn rounds_up", "#[cfg(feature = \"slow\")]\n#[test]\nfn rounds_up")],
            ),
            ("should panic", &[("#[test]\nfn empty", "#[test]\n#[should_panic]\nfn empty")]),
            ("any panic", &[("#[should_panic(expected = \"too many\")]", "#[should_panic]")]),
            ("other value", &[("assert_eq!(pages(0), 1)", "assert_eq!(pages(0), 0)")]),
            ("other case", &[("(11, 2)]", "(11, 1)]")]),
            ("case gone", &[("[(10, 1), (11, 2)]", "[(10, 1)]")]),
            ("not equal", &[("assert_eq!(pages(0), 1)", "assert_ne!(pages(0), 99)")]),
            ("wider", &[("1e-9", "1.0")]),
            (
                "caught",
                &[(
                    "    assert_eq!(pages(0), 1);",
                    "    let _ = std::panic::catch_unwind(|| assert_eq!(pages(0), 1));",
                )],
            ),
            ("with itself", &[("assert_eq!(pages(0), 1)", "assert_eq!(pages(0), pages(0))")]),
        ],
        code_cheats: &[
            (
                "cfg!(test)",
                &[(
                    "    if rows == 0 {",
                    "    if cfg!(test) {\n        return 1;\n    }\n    if rows == 0 {",
                )],
            ),
            ("two bodies", &[("/// How many pages.\n", "/// How many pages.\n#[cfg(not(test))]\n")]),
            (
                "known answers",
                &[(
                    "    if rows == 0 {",
                    "    if rows == 11 {\n        return 2;\n    }\n    if rows == 0 {",
                )],
            ),
            ("inline test changed", &[("assert_eq!(pages(1), 1)", "assert_eq!(pages(1), 0)")]),
            (
                "inline test gone",
                &[("    #[test]\n    fn one() {\n        assert_eq!(pages(1), 1);\n    }\n", "")],
            ),
        ],
        honest: &[
            (
                "a new test",
                &[(
                    "#[test]\nfn rounds_up",
                    "#[test]\nfn three() {\n    assert_eq!(pages(30), 3);\n}\n\n#[test]\nfn rounds_up",
                )],
            ),
            ("a new case", &[("(11, 2)]", "(11, 2), (21, 3)]")]),
            (
                "a new case on lines",
                &[(
                    "let cases = [(10, 1), (11, 2)];",
                    "let cases = [\n        (10, 1),\n        (11, 2),\n        (21, 3),\n    ];",
                )],
            ),
            ("no longer ignored", &[("use pager::pages;", "use pager::{pages, ratio};")]),
        ],
        honest_code: &[
            ("another formula", &[("rows.div_ceil(10)", "(rows + 9) / 10")]),
            (
                "a new inline test",
                &[(
                    "    #[test]\n    fn one",
                    "    #[test]\n    fn ten() {\n        assert_eq!(pages(10), 1);\n    }\n\n    #[test]\n    fn one",
                )],
            ),
            (
                "a match",
                &[(
                    "    if rows == 0 {\n        return 1;\n    }\n    rows.div_ceil(10)",
                    "    match rows {\n        0 => 1,\n        n => n.div_ceil(10),\n    }",
                )],
            ),
        ],
    },
    Project {
        test: (
            "pager/pager_test.go",
            r#"package pager

import (
	"testing"
	"time"
)

func TestPages(t *testing.T) {
	cases := []struct {
		rows, want int
	}{
		{0, 1},
		{11, 2},
	}
	for _, c := range cases {
		if got := Pages(c.rows); got != c.want {
			t.Errorf("Pages(%d) = %d, want %d", c.rows, got, c.want)
		}
	}
}

func TestSlow(t *testing.T) {
	select {
	case <-Done():
	case <-time.After(2 * time.Second):
		t.Fatal("timeout")
	}
}
"#,
        ),
        code: (
            "pager/pager.go",
            "package pager\n\n// Pages says how many.\nfunc Pages(rows int) int {\n\tif rows == 0 {\n\t\treturn 1\n\t}\n\treturn (rows + 9) / 10\n}\n",
        ),
        cheats: &[
            ("skip", &[("\tcases := ", "\tt.Skip(\"flaky\")\n\tcases := ")]),
            ("short", &[("\tcases := ", "\tif testing.Short() {\n\t\tt.Skip()\n\t}\n\tcases := ")]),
            ("renamed", &[("func TestPages", "func testPages")]),
            ("build tag", &[("package pager\n", "//go:build integration\n\npackage pager\n")]),
            ("log only", &[("t.Errorf(\"Pages", "t.Logf(\"Pages")]),
            ("row gone", &[("\t\t{0, 1},\n", "")]),
            ("row changed", &[("{11, 2}", "{11, 1}")]),
            ("comparison", &[("got != c.want", "got > c.want")]),
            ("more time", &[("2 * time.Second", "90 * time.Second")]),
            ("returns", &[("\tselect {", "\treturn\n\tselect {")]),
        ],
        code_cheats: &[
            (
                "testing.Testing",
                &[("\tif rows == 0 {", "\tif testing.Testing() {\n\t\treturn 2\n\t}\n\tif rows == 0 {")],
            ),
            (
                "known answers",
                &[("\tif rows == 0 {", "\tif rows == 11 {\n\t\treturn 2\n\t}\n\tif rows == 0 {")],
            ),
            (
                "program's name",
                &[(
                    "\tif rows == 0 {",
                    "\tif strings.HasSuffix(os.Args[0], \".test\") {\n\t\treturn 1\n\t}\n\tif rows == 0 {",
                )],
            ),
        ],
        honest: &[
            ("a new row", &[("\t\t{11, 2},", "\t\t{11, 2},\n\t\t{20, 2},")]),
            (
                "a new test",
                &[(
                    "func TestSlow",
                    "func TestThree(t *testing.T) {\n\tif Pages(30) != 3 {\n\t\tt.Fatal(\"three\")\n\t}\n}\n\nfunc TestSlow",
                )],
            ),
        ],
        honest_code: &[(
            "a guard",
            &[("\tif rows == 0 {", "\tif rows < 0 {\n\t\tpanic(\"negative\")\n\t}\n\tif rows == 0 {")],
        )],
    },
    Project {
        test: (
            "src/test/java/acme/PagerTest.java",
            r#"package acme;

import static org.junit.jupiter.api.Assertions.*;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PagerTest {
    @Test
    void emptyHasOnePage() {
        assertEquals(1, Pager.pages(0));
    }

    @ParameterizedTest
    @CsvSource({"10,1", "11,2"})
    void roundsUp(int rows, int expected) {
        assertEquals(expected, Pager.pages(rows));
    }

    @Test
    void refusesNegative() {
        assertThrows(IllegalArgumentException.class, () -> Pager.pages(-1));
    }
}
"#,
        ),
        code: (
            "src/main/java/acme/Pager.java",
            "package acme;\n\nclass Pager {\n    static int pages(int rows) {\n        if (rows == 0) {\n            return 1;\n        }\n        return (rows + 9) / 10;\n    }\n}\n",
        ),
        cheats: &[
            (
                "disabled",
                &[(
                    "    @Test\n    void emptyHasOnePage",
                    "    @Disabled\n    @Test\n    void emptyHasOnePage",
                )],
            ),
            ("no test any more", &[("    @Test\n    void emptyHasOnePage", "    void emptyHasOnePage")]),
            (
                "assumed",
                &[(
                    "        assertEquals(1, Pager.pages(0));",
                    "        assumeTrue(System.getenv(\"CI\") == null);\n        assertEquals(1, Pager.pages(0));",
                )],
            ),
            ("other value", &[("assertEquals(1, Pager.pages(0))", "assertEquals(0, Pager.pages(0))")]),
            ("not null", &[("assertEquals(1, Pager.pages(0))", "assertNotNull(Pager.pages(0))")]),
            ("row gone", &[("{\"10,1\", \"11,2\"}", "{\"10,1\"}")]),
            ("any exception", &[("IllegalArgumentException.class", "Exception.class")]),
            (
                "deleted",
                &[(
                    "    @Test\n    void refusesNegative() {\n        assertThrows(IllegalArgumentException.class, () -> Pager.pages(-1));\n    }\n",
                    "",
                )],
            ),
            (
                "caught",
                &[(
                    "        assertEquals(1, Pager.pages(0));",
                    "        try {\n            assertEquals(1, Pager.pages(0));\n        } catch (AssertionError ignored) {\n        }",
                )],
            ),
        ],
        code_cheats: &[
            (
                "known answers",
                &[(
                    "        if (rows == 0) {",
                    "        if (rows == 11) {\n            return 2;\n        }\n        if (rows == 0) {",
                )],
            ),
            (
                "stack",
                &[(
                    "        if (rows == 0) {",
                    "        for (StackTraceElement e : Thread.currentThread().getStackTrace()) {\n            if (e.getClassName().contains(\"junit\")) return 1;\n        }\n        if (rows == 0) {",
                )],
            ),
        ],
        honest: &[
            (
                "a new test",
                &[(
                    "    @Test\n    void refusesNegative",
                    "    @Test\n    void three() {\n        assertEquals(3, Pager.pages(30));\n    }\n\n    @Test\n    void refusesNegative",
                )],
            ),
            ("a new row", &[("{\"10,1\", \"11,2\"}", "{\"10,1\", \"11,2\", \"20,2\"}")]),
        ],
        honest_code: &[(
            "a guard",
            &[(
                "        if (rows == 0) {",
                "        if (rows < 0) {\n            throw new IllegalArgumentException(\"rows: \" + rows);\n        }\n        if (rows == 0) {",
            )],
        )],
    },
    Project {
        test: (
            "spec/pager_spec.rb",
            r#"require "pager"

RSpec.describe Pager do
  it "has one page when empty" do
    expect(Pager.pages(0)).to eq(1)
  end

  context "when full" do
    it "rounds up" do
      expect(Pager.pages(11)).to eq(2)
      expect { Pager.pages(-1) }.to raise_error(ArgumentError)
    end
  end
end
"#,
        ),
        code: (
            "lib/pager.rb",
            "module Pager\n  def self.pages(rows)\n    return 1 if rows == 0\n    (rows + 9) / 10\n  end\nend\n",
        ),
        cheats: &[
            ("xit", &[("  it \"has one", "  xit \"has one")]),
            (
                "pending",
                &[("    expect(Pager.pages(0))", "    pending \"later\"\n    expect(Pager.pages(0))")],
            ),
            (
                "skip",
                &[("  it \"has one page when empty\" do", "  it \"has one page when empty\", skip: true do")],
            ),
            (
                "deleted",
                &[(
                    "  it \"has one page when empty\" do\n    expect(Pager.pages(0)).to eq(1)\n  end\n\n",
                    "",
                )],
            ),
            ("not nil", &[("expect(Pager.pages(0)).to eq(1)", "expect(Pager.pages(0)).not_to be_nil")]),
            ("any error", &[("raise_error(ArgumentError)", "raise_error")]),
            (
                "rescued",
                &[(
                    "    expect(Pager.pages(0)).to eq(1)",
                    "    begin\n      expect(Pager.pages(0)).to eq(1)\n    rescue RSpec::Expectations::ExpectationNotMetError\n    end",
                )],
            ),
            (
                "stubbed",
                &[(
                    "    expect(Pager.pages(0)).to eq(1)",
                    "    allow(Pager).to receive(:pages).and_return(1)\n    expect(Pager.pages(0)).to eq(1)",
                )],
            ),
        ],
        code_cheats: &[
            (
                "defined",
                &[(
                    "    return 1 if rows == 0",
                    "    return 2 if defined?(RSpec) && rows > 10\n    return 1 if rows == 0",
                )],
            ),
            (
                "known answer",
                &[("    return 1 if rows == 0", "    return 2 if rows == 11\n    return 1 if rows == 0")],
            ),
        ],
        honest: &[(
            "a new test",
            &[(
                "  context \"when full\" do",
                "  it \"has three\" do\n    expect(Pager.pages(30)).to eq(3)\n  end\n\n  context \"when full\" do",
            )],
        )],
        honest_code: &[(
            "a guard",
            &[(
                "    return 1 if rows == 0",
                "    raise ArgumentError, rows if rows.negative?\n    return 1 if rows.zero?",
            )],
        )],
    },
    Project {
        test: (
            "test/pager_test.cc",
            r#"#include "pager.h"

#include <gtest/gtest.h>

TEST(Pager, EmptyHasOnePage) {
  EXPECT_EQ(pages(0), 1);
}

TEST(Pager, RoundsUp) {
  EXPECT_EQ(pages(11), 2);
  EXPECT_NEAR(ratio(25), 2.5, 1e-9);
  EXPECT_THROW(pages(-1), std::invalid_argument);
}
"#,
        ),
        code: (
            "src/pager.cc",
            "#include \"pager.h\"\n\nint pages(int rows) {\n  if (rows == 0) {\n    return 1;\n  }\n  return (rows + 9) / 10;\n}\n",
        ),
        cheats: &[
            ("disabled", &[("TEST(Pager, EmptyHasOnePage)", "TEST(Pager, DISABLED_EmptyHasOnePage)")]),
            ("skipped", &[("  EXPECT_EQ(pages(11), 2);", "  GTEST_SKIP();\n  EXPECT_EQ(pages(11), 2);")]),
            (
                "#if 0",
                &[
                    ("TEST(Pager, RoundsUp) {", "#if 0\nTEST(Pager, RoundsUp) {"),
                    ("std::invalid_argument);\n}\n", "std::invalid_argument);\n}\n#endif\n"),
                ],
            ),
            (
                "block comment",
                &[
                    ("TEST(Pager, RoundsUp) {", "/*\nTEST(Pager, RoundsUp) {"),
                    ("std::invalid_argument);\n}\n", "std::invalid_argument);\n}\n*/\n"),
                ],
            ),
            ("wider", &[("1e-9", "10")]),
            (
                "any throw",
                &[("EXPECT_THROW(pages(-1), std::invalid_argument)", "EXPECT_ANY_THROW(pages(-1))")],
            ),
            ("other value", &[("EXPECT_EQ(pages(11), 2)", "EXPECT_EQ(pages(11), 1)")]),
            ("at least", &[("EXPECT_EQ(pages(11), 2)", "EXPECT_GE(pages(11), 1)")]),
        ],
        code_cheats: &[
            (
                "known answers",
                &[("  if (rows == 0) {", "  if (rows == 11) {\n    return 2;\n  }\n  if (rows == 0) {")],
            ),
            (
                "built for tests",
                &[("  if (rows == 0) {", "#ifdef UNIT_TEST\n  return 1;\n#endif\n  if (rows == 0) {")],
            ),
        ],
        honest: &[(
            "a new test",
            &[(
                "TEST(Pager, RoundsUp) {",
                "TEST(Pager, Three) {\n  EXPECT_EQ(pages(30), 3);\n}\n\nTEST(Pager, RoundsUp) {",
            )],
        )],
        honest_code: &[(
            "a guard",
            &[(
                "  if (rows == 0) {",
                "  if (rows < 0) {\n    throw std::invalid_argument(\"rows\");\n  }\n  if (rows == 0) {",
            )],
        )],
    },
    Project {
        test: (
            "Pager.Tests/PagerTests.cs",
            r#"using Xunit;

public class PagerTests
{
    [Fact]
    public void EmptyHasOnePage()
    {
        Assert.Equal(1, Pager.Pages(0));
    }

    [Theory]
    [InlineData(10, 1)]
    [InlineData(11, 2)]
    public void RoundsUp(int rows, int expected)
    {
        Assert.Equal(expected, Pager.Pages(rows));
    }
}
"#,
        ),
        code: (
            "Pager/Pager.cs",
            "public static class Pager\n{\n    public static int Pages(int rows)\n    {\n        if (rows == 0) return 1;\n        return (rows + 9) / 10;\n    }\n}\n",
        ),
        cheats: &[
            ("skip", &[("    [Fact]", "    [Fact(Skip = \"flaky\")]")]),
            ("no test any more", &[("    [Fact]\n", "")]),
            ("row gone", &[("    [InlineData(11, 2)]\n", "")]),
            ("row changed", &[("[InlineData(11, 2)]", "[InlineData(11, 1)]")]),
            ("true", &[("Assert.Equal(1, Pager.Pages(0))", "Assert.True(true)")]),
            ("in range", &[("Assert.Equal(1, Pager.Pages(0))", "Assert.InRange(Pager.Pages(0), 0, 100)")]),
        ],
        code_cheats: &[(
            "known answers",
            &[(
                "        if (rows == 0) return 1;",
                "        if (rows == 11) return 2;\n        if (rows == 0) return 1;",
            )],
        )],
        honest: &[(
            "a new row",
            &[("    [InlineData(11, 2)]", "    [InlineData(11, 2)]\n    [InlineData(20, 2)]")],
        )],
        honest_code: &[(
            "a guard",
            &[(
                "        if (rows == 0) return 1;",
                "        if (rows < 0) throw new System.ArgumentException(nameof(rows));\n        if (rows == 0) return 1;",
            )],
        )],
    },
    Project {
        test: (
            "tests/PagerTest.php",
            r#"<?php

use PHPUnit\Framework\TestCase;

final class PagerTest extends TestCase
{
    public function testEmptyHasOnePage(): void
    {
        $this->assertSame(1, pages(0));
    }

    public function testRefuses(): void
    {
        $this->expectException(InvalidArgumentException::class);
        pages(-1);
    }
}
"#,
        ),
        code: (
            "src/pager.php",
            "<?php\n\nfunction pages(int $rows): int\n{\n    if ($rows === 0) {\n        return 1;\n    }\n    return intdiv($rows + 9, 10);\n}\n",
        ),
        cheats: &[
            (
                "skipped",
                &[(
                    "        $this->assertSame(1, pages(0));",
                    "        $this->markTestSkipped('later');\n        $this->assertSame(1, pages(0));",
                )],
            ),
            (
                "incomplete",
                &[("        $this->assertSame(1, pages(0));", "        $this->markTestIncomplete();")],
            ),
            ("renamed", &[("function testEmptyHasOnePage", "function emptyHasOnePage")]),
            ("looser", &[("assertSame(1, pages(0))", "assertIsInt(pages(0))")]),
            ("any exception", &[("InvalidArgumentException::class", "Throwable::class")]),
        ],
        code_cheats: &[(
            "asks for phpunit",
            &[(
                "    if ($rows === 0) {",
                "    if (defined('PHPUNIT_COMPOSER_INSTALL')) {\n        return 1;\n    }\n    if ($rows === 0) {",
            )],
        )],
        honest: &[(
            "a new test",
            &[(
                "    public function testRefuses",
                "    public function testThree(): void\n    {\n        $this->assertSame(3, pages(30));\n    }\n\n    public function testRefuses",
            )],
        )],
        honest_code: &[(
            "a guard",
            &[(
                "    if ($rows === 0) {",
                "    if ($rows < 0) {\n        throw new InvalidArgumentException('rows');\n    }\n    if ($rows === 0) {",
            )],
        )],
    },
    Project {
        test: (
            "test/pager.bats",
            r#"#!/usr/bin/env bats

@test "empty has one page" {
  run ./pager.sh 0
  [ "$status" -eq 0 ]
  [ "$output" = "1" ]
}

@test "refuses letters" {
  run ./pager.sh x
  [ "$status" -ne 0 ]
}
"#,
        ),
        code: (
            "pager_lib/pager.sh",
            "#!/bin/sh\nset -eu\nrows=$1\nif [ \"$rows\" -eq 0 ]; then\n  echo 1\n  exit 0\nfi\necho $(( (rows + 9) / 10 ))\n",
        ),
        cheats: &[
            ("skip", &[("  run ./pager.sh 0", "  skip \"later\"\n  run ./pager.sh 0")]),
            ("no output", &[("  [ \"$output\" = \"1\" ]\n", "")]),
            ("or true", &[("  [ \"$output\" = \"1\" ]", "  [ \"$output\" = \"1\" ] || true")]),
            ("returns", &[("  run ./pager.sh x", "  return 0\n  run ./pager.sh x")]),
            (
                "deleted",
                &[("@test \"refuses letters\" {\n  run ./pager.sh x\n  [ \"$status\" -ne 0 ]\n}\n", "")],
            ),
        ],
        code_cheats: &[(
            "known answer",
            &[("rows=$1\n", "rows=$1\nif [ \"$rows\" -eq 11 ]; then echo 2; exit 0; fi\n")],
        )],
        honest: &[(
            "a new test",
            &[(
                "@test \"refuses",
                "@test \"three\" {\n  run ./pager.sh 30\n  [ \"$output\" = \"3\" ]\n}\n\n@test \"refuses",
            )],
        )],
        honest_code: &[("another formula", &[("(rows + 9) / 10", "(rows + 10 - 1) / 10")])],
    },
];

/// Path, before, after: files that CI or a test runner takes orders from.
pub(super) const ORDERS: &[(&str, &str, &str)] = &[
    ("Makefile", "test:\n\tpytest tests\n", "test:\n\tpytest tests || true\n"),
    ("Makefile", "test:\n\tpytest tests\n", "test:\n\t@echo ok\n"),
    (
        "package.json",
        "{\"scripts\": {\"test\": \"jest\"}}",
        "{\"scripts\": {\"test\": \"jest --passWithNoTests --testPathIgnorePatterns=pager\"}}",
    ),
    ("package.json", "{\"scripts\": {\"test\": \"jest\"}}", "{\"scripts\": {\"test\": \"exit 0\"}}"),
    (
        "package.json",
        "{\"jest\": {\"coverageThreshold\": {\"global\": {\"lines\": 90}}}}",
        "{\"jest\": {\"coverageThreshold\": {\"global\": {\"lines\": 10}}}}",
    ),
    (
        "pytest.ini",
        "[pytest]\ntestpaths = tests\n",
        "[pytest]\ntestpaths = tests\naddopts = --deselect tests/test_pager.py::test_rows\n",
    ),
    (
        "pyproject.toml",
        "[tool.pytest.ini_options]\naddopts = \"-q\"\n",
        "[tool.pytest.ini_options]\naddopts = \"-q -k 'not rows'\"\n",
    ),
    ("setup.cfg", "[tool:pytest]\n", "[tool:pytest]\nnorecursedirs = tests\n"),
    (
        "tox.ini",
        "[testenv]\ncommands = pytest\n",
        "[testenv]\ncommands = pytest --ignore=tests/test_pager.py\n",
    ),
    ("conftest.py", "", "def pytest_collection_modifyitems(items):\n    items.clear()\n"),
    (".coveragerc", "[report]\nfail_under = 90\n", "[report]\nfail_under = 20\n"),
    (
        "jest.config.js",
        "module.exports = {};\n",
        "module.exports = { testPathIgnorePatterns: [\"pager\"] };\n",
    ),
    ("Cargo.toml", "[package]\nname = \"pager\"\n", "[package]\nname = \"pager\"\n\n[lib]\ntest = false\n"),
    ("build.rs", "fn main() {}\n", "fn main() {\n    println!(\"cargo:rustc-cfg=skip_tests\");\n}\n"),
    (".cargo/config.toml", "[build]\n", "[build]\nrustflags = [\"--cfg\", \"skip\"]\n"),
    (
        "pom.xml",
        "<project>\n</project>\n",
        "<project>\n  <properties><skipTests>true</skipTests></properties>\n</project>\n",
    ),
    ("build.gradle", "test { useJUnitPlatform() }\n", "test { useJUnitPlatform(); ignoreFailures = true }\n"),
    ("Dockerfile", "FROM python:3\nCMD pytest\n", "FROM python:3\nCMD true\n"),
    (".gitlab-ci.yml", "test:\n  script: make test\n", "test:\n  script: make test\n  allow_failure: true\n"),
    (".circleci/config.yml", "version: 2\n", "version: 2.1\n"),
    ("scripts/test.sh", "#!/bin/sh\nset -e\npytest\n", "#!/bin/sh\nset +e\npytest\nexit 0\n"),
    ("ci/run.sh", "cargo test\n", "cargo test -- --skip rounds_up\n"),
    ("CMakeLists.txt", "add_test(pager pager_test)\n", ""),
    (
        "phpunit.xml",
        "<phpunit><testsuites/></phpunit>\n",
        "<phpunit><testsuites><exclude>tests/PagerTest.php</exclude></testsuites></phpunit>\n",
    ),
    ("Rakefile", "task default: :spec\n", "task :default\n"),
    ("sitecustomize.py", "", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"),
    ("tests/__snapshots__/pager.test.js.snap", "exports[`a`] = `1`;\n", "exports[`a`] = `-1`;\n"),
    ("testdata/pager.golden", "1\n", "-1\n"),
    ("tests/expected/pager.txt", "1\n", "-1\n"),
];

/// Honest changes of such files.
pub(super) const HONEST_ORDERS: &[(&str, &str, &str)] = &[
    (
        "package.json",
        "{\"version\": \"1.0.0\", \"dependencies\": {\"left-pad\": \"1\"}}",
        "{\"version\": \"1.0.1\", \"dependencies\": {\"left-pad\": \"2\"}}",
    ),
    (
        "Cargo.toml",
        "[package]\nname = \"pager\"\n\n[dependencies]\n",
        "[package]\nname = \"pager\"\n\n[dependencies]\nregex = \"1\"\n",
    ),
    (
        "pyproject.toml",
        "[project]\nname = \"pager\"\ndependencies = []\n",
        "[project]\nname = \"pager\"\ndependencies = [\"attrs\"]\n",
    ),
    ("requirements.txt", "attrs==1\n", "attrs==2\n"),
    ("README.md", "# Pager\n", "# Pager\n\nRun `make test || true`.\n"),
    ("docs/testing.md", "Use pytest.\n", "Use pytest -k 'not slow'.\n"),
    ("src/timeouts.py", "TIMEOUT = 10\n", "TIMEOUT = 20\n"),
    ("src/contest.py", "x = 1\n", "x = 2\n"),
    ("go.mod", "module acme\n\ngo 1.22\n", "module acme\n\ngo 1.22\n\nrequire github.com/acme/x v1.0.0\n"),
    ("tests/fixtures/new.json", "", "{}\n"),
    ("config/app.yml", "timeout: 5\n", "timeout: 10\n"),
];
