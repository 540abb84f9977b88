#!/usr/bin/env python3
"""Makes the animated picture of the README: docs/images/sidebar.webp.

    python3 scripts/picture.py

A browser shows the built plugin with the real daemon on the sample vault; Pillow, which nothing
else here needs (`pip install -e ".[pictures]"`), joins its frames. Fails if the file grows beyond
what a page should load.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import environment
from environment import ROOT, OneLineParser

PICTURE = ROOT / "docs" / "images" / "sidebar.webp"
MAX_BYTES = 2_000_000
WIDTH = 900  # pixels, as wide as GitHub shows a README


def main() -> int:
    """Runs the command line; 0 if the picture was made."""
    environment.prepare_console()
    OneLineParser(description=(__doc__ or "").split("\n\n")[0]).parse_args()
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        print("The picture needs Node with npm.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="sidelight-frames-") as folder:
        for command in ([npm, "run", "--silent", "build"], [node, "tests/e2e/picture.mjs", folder]):
            if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
                return 1
        count = animate(Path(folder), PICTURE)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT).as_posix()}: {count} frames, {size / 1e6:.2f} MB")
    if size > MAX_BYTES:
        print(f"That is more than {MAX_BYTES / 1e6:g} MB: fewer frames.", file=sys.stderr)
        return 1
    return 0


def animate(folder: Path, picture: Path) -> int:
    """Joins the frames that `frames.json` lists, with their milliseconds; returns how many."""
    from PIL import Image

    listed: list[tuple[str, int]] = json.loads((folder / "frames.json").read_text("utf-8"))
    images = []
    for name, _ in listed:
        image = Image.open(folder / name).convert("RGB")
        size = (WIDTH, round(image.height * WIDTH / image.width))
        images.append(image.resize(size, Image.Resampling.LANCZOS))
    # Without loss: letters must not become smudges.
    images[0].save(
        picture,
        save_all=True,
        append_images=images[1:],
        duration=[milliseconds for _, milliseconds in listed],
        loop=0,
        lossless=True,
        minimize_size=True,
    )
    return len(images)


if __name__ == "__main__":
    sys.exit(main())
