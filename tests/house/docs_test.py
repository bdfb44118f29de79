#!/usr/bin/env python3
"""Every page of docs/ is in the navigation of the site, and every relative link of a page points to something."""
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
ENTRY = re.compile(r"^\s*- [^#]*?: (\S+\.md)$", re.MULTILINE)


def anchor_of(heading):
    """As code hosts make it: lower case, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors_of(page):
    return {anchor_of(heading) for heading in HEADING.findall(FENCE.sub("", page.read_text()))}


def links_of(page):
    return LINK.findall(CODE.sub("", FENCE.sub("", page.read_text())))


def broken_links(page):
    for link in links_of(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists():
            yield f"{page.name}: {link} does not exist"
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            yield f"{page.name}: {link}: no such heading"


def navigation(text):
    return ENTRY.findall(text.partition("\nnav:")[2])


class Site(unittest.TestCase):
    maxDiff = None
    pages = sorted((ROOT / "docs").glob("*.md"))
    entries = navigation((ROOT / "mkdocs.yml").read_text())

    def test_every_page_is_in_the_navigation_once(self):
        self.assertEqual(sorted(page.name for page in self.pages),
                         sorted(entry for entry in self.entries if not (ROOT / entry).exists()))

    def test_every_relative_link_points_to_something(self):
        roots = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
        self.assertEqual([], [problem for page in [*self.pages, *roots] for problem in broken_links(page)])


class Links(unittest.TestCase):
    def broken(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "other.md").write_text("# Which is `faster`?\n")
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text)
            return list(broken_links(page))

    def test_missing_files_and_headings_are_found(self):
        self.assertEqual(["page.md: gone.md does not exist"], self.broken("see [it](gone.md)"))
        self.assertEqual(["page.md: other.md#slow: no such heading"], self.broken("see [it](other.md#slow)"))
        self.assertEqual(["page.md: #here: no such heading"], self.broken("see [it](#here)"))

    def test_links_that_work_code_and_addresses_are_left_alone(self):
        self.assertEqual([], self.broken("[a](other.md) [b](other.md#which-is-faster) [c](https://example.com/x)"))
        self.assertEqual([], self.broken("`a[0](gone.md)`\n```cpp\nf[0](gone.md)\n```\n"))

    def test_the_navigation_lists_pages(self):
        self.assertEqual(["a.md", "b-c.md"], navigation("x: y.md\nnav:\n  - Home: a.md\n  - More:\n      - B, c: b-c.md\n"))


if __name__ == "__main__":
    unittest.main()
