"""Makes docs/images, screenshots of reports in Chromium; run by `make pictures`."""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from browsing import CHROMIUM
from end_to_end.inputs_of_pages import TREES
from end_to_end.pages import play
from PIL import Image
from playwright.sync_api import sync_playwright

_ROOT = Path(__file__).parents[1]
_IMAGES = _ROOT / "docs/images"
# The report section that a page of docs/from shows.
_SECTIONS = {"audio": "audio", "tables": "numbers", "text": "texts", "text-table": "texts"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for page, tree in TREES.items():
            text = (_ROOT / f"docs/from/{page}.md").read_text()
            if f"/from-{page}.jpg" in text:
                report = _built(text, tree, Path(folder) / page)
                shot = _shot(browser, f"{report}#{_SECTIONS.get(page, 'gallery')}", 760, 440)
                _save(shot, f"from-{page}")
        data, run = _demo(Path(folder) / "demo")
        _save(_whole(browser, data, Path(folder)), "report")
        _save(_whole(browser, run, Path(folder)), "run-report")


def _built(text: str, tree: Any, folder: Path) -> Path:
    """Run a page's commands on its tree, and return the report."""
    folder.mkdir()
    tree(folder)
    play(text, folder)
    return next(folder.glob("data/*/1.0.0/report.html"))


def _demo(folder: Path) -> tuple[Path, Path]:
    """Return the reports of the boxes and of the run from `make demo`."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "DEMO_DIR": str(folder), "PATH": path}
    subprocess.run([str(_ROOT / "examples/demo.sh")], env=env, check=True)
    return folder / "data/blood/1.0.0/report.html", folder / "run/report.html"


def _shot(browser: Any, url: str, width: int, height: int) -> Any:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(f"file://{url}")
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return shot


def _whole(browser: Any, report: Path, root: Path) -> Any:
    """Take a screenshot of the top of a page, without the temporary folder's path."""
    page = browser.new_page(viewport={"width": 1150, "height": 1610})
    page.set_content(report.read_text().replace(f"{root}/", ""))
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return shot.resize((800, 1120), Image.Resampling.LANCZOS)


def _save(picture: Any, name: str) -> None:
    picture.save(_IMAGES / f"{name}.jpg", quality=80, optimize=True)


if __name__ == "__main__":
    main()
