"""Adds pages outside of docs/ to the site, and mends their links.

The README is the first page. Links to other files lead to the repository, whose address is
REPOSITORY_URL or that of git's remote `origin`; without an address, these links become text.
"""

import os
import posixpath
import re
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
# Pages of the site, by their path in the repository.
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks/RESULTS.md": "dev/benchmarks.md",
    "benchmarks/QUALITY.md": "dev/quality.md",
}
# The repository's address until it has one: in docs/install.md and examples/cells.ipynb.
PLACEHOLDER = "https://github.com/OWNER/beam-tfrecords"
# Pages that the search shows after all others, in addition to those of dev/.
_LATE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "options.md", "python.md")
_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def repository_url() -> str:
    """The address of the repository for browsers, or ""."""
    if url := os.environ.get("REPOSITORY_URL", ""):
        return url.rstrip("/")
    words = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    url = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    url = re.sub(r"^git@([^:/]+):", r"https://\1/", url).removesuffix(".git")
    return url if url.startswith("https://") and "@" not in url else ""


def on_config(config: Any) -> Any:
    """Shows a link to the repository on every page."""
    config.repo_url = repository_url()
    if config.repo_url:
        config.repo_name = "/".join(config.repo_url.split("/")[-2:])
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages and the pictures outside of docs/."""
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for picture in (ROOT / "benchmarks").glob("*.svg"):
        files.append(File.generated(config, picture.name, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The page with links that hold on the site."""
    at = page.file.src_uri
    if at.startswith("dev/") or at in _LATE:
        page.meta["search"] = {"boost": 1e-6}
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
            return f"[{text}]({config.repo_url}/blob/main/{path})" if config.repo_url else text
        return found[0]  # strict mode stops at it

    if config.repo_url:
        markdown = markdown.replace(PLACEHOLDER, config.repo_url)
    # Code stays as it is.
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("`") else _LINK.sub(link, part) for part in parts)
