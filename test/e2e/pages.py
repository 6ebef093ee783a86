"""The repository's pages, by their paths from its root; README.md comes first."""
import re

from common import SOURCE

FOLDERS = [SOURCE / name for name in ("compiler", "dialect", "runtime", "test", "tools")]
PAGES = {page.relative_to(SOURCE).as_posix(): page.read_text(encoding="utf-8")
         for page in (SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted(page for folder in FOLDERS for page in folder.rglob("*.md")))}


def blocks_of(page):
    """A page's blocks of code, fenced or indented by four blanks, as lists of lines, and its headings, as empty lists."""
    for fenced, indented in re.findall(r"^#+ [^\n]*|^```\w*\n(.*?)^```|(?<=\n\n)((?: {4}[^\n]*\n)+)", page, re.M | re.S):
        yield [line[4:] for line in indented.splitlines()] if indented else fenced.splitlines()
