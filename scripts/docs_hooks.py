"""What mkdocs does differently from a code host's view of the same Markdown files.

Pages of the project's root become pages of the site, and links between them and docs/ work in both
places. Fences of kind `console measured` are ordinary `console` ones. Lists may follow a line of text.
"""
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOT_PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
ITEM = re.compile(r"([-*]|\d+\.) ")


def on_files(files, config):
    for name in ROOT_PAGES:
        files.append(File(name, str(ROOT), config["site_dir"], config["use_directory_urls"]))
    return files


def with_lists_apart(markdown):
    """Python-Markdown wants an empty line before a list; code hosts do not."""
    lines, in_fence, previous = [], False, ""
    for line in markdown.splitlines():
        if line.startswith("```"):
            in_fence = not in_fence
        follows_text = previous.strip() and not previous.startswith(" ") and not ITEM.match(previous)
        if not in_fence and ITEM.match(line) and follows_text:
            lines.append("")
        lines.append(line)
        previous = line
    return "\n".join(lines)


def on_page_markdown(markdown, page, config, files):
    folder = "docs/" if page.file.src_path in ROOT_PAGES else "../"
    markdown = markdown.replace(f"]({folder}", "](").replace("```console measured", "```console")
    return with_lists_apart(markdown)
