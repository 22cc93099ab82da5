"""The browser that photographs the pages, each at the size of a desk and of a phone, light and dark."""

from __future__ import annotations

import base64
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.async_api import Browser, FloatRect, Page, async_playwright

BROWSER = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
TO_WEBP = """async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.8);
}"""
STILL = "*, *::before, *::after { animation: none !important; caret-color: transparent !important; }"


class Format(NamedTuple):
    """A size in pixels, and how long a picture is at most."""

    name: str
    width: int
    height: int
    longest: int


DESK = Format("desk", 1280, 800, 1200)
PHONE = Format("phone", 390, 844, 1300)
FORMATS = (DESK, PHONE)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Chromium, which has to be installed."""
    executable = shutil.which("chromium")
    if executable is None:
        raise SystemExit("pictures: expected the program chromium, found none: install Debian's package chromium")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable, args=BROWSER.split())
        yield chromium
        await chromium.close()


async def photograph(page: Page, folder: Path, name: str) -> list[Path]:
    """The page that is open, in each format and scheme, from its top down to the longest of the format."""
    taken = []
    for format in FORMATS:  # noqa: A001
        await page.set_viewport_size({"width": format.width, "height": format.height})
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            height = await page.evaluate(
                "Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY)"
            )
            clip = FloatRect(x=0, y=0, width=format.width, height=max(format.height, min(height, format.longest)))
            path = folder / f"{name}-{format.name}-{scheme}.webp"
            path.write_bytes(await _compressed(page, await page.screenshot(clip=clip, full_page=True, style=STILL)))
            taken.append(path)
    return taken


async def _compressed(page: Page, png: bytes) -> bytes:
    """The picture as WebP, a third as large; the browser converts it, on a page of its own."""
    blank = await page.context.new_page()
    try:
        text = await blank.evaluate(TO_WEBP, base64.b64encode(png).decode())
    finally:
        await blank.close()
    return base64.b64decode(text.partition(",")[2])
