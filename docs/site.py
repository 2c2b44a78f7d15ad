"""What mkdocs makes of the repository: pages that lie outside of docs/, and links to files there.

On the site the README is the first page. A link to a file that is no page becomes its text, for
the site has no address of the repository.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
# Pages of the site, by where they lie in the repository.
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
}
_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages and the pictures that lie outside of docs/."""
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for picture in (ROOT / "benchmarks").glob("*.svg"):
        files.append(File.generated(config, picture.name, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """The page with links that hold on the site."""
    at = page.file.src_uri
    source = next((path for path, name in OUTSIDE.items() if name == at), f"docs/{at}")

    def link(found: re.Match[str]) -> str:
        sign, text, target, anchor = found[1], found[2], found[3], found[4] or ""
        if not target or "://" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        name = OUTSIDE.get(path, path.removeprefix("docs/"))
        if path.startswith("benchmarks/") and path.endswith(".svg"):
            name = posixpath.basename(path)
        if files.get_file_from_path(name):
            return (
                f"{sign}[{text}]({posixpath.relpath(name, posixpath.dirname(at) or '.')}{anchor})"
            )
        if (ROOT / path).exists():
            return text
        return found[0]  # strict mode stops at it

    # Code stays as it is.
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("`") else _LINK.sub(link, part) for part in parts)
