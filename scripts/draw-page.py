"""Draws examples/photos/page.png: lines of text, one of them turned. Needs Pillow, whose own font it uses.

    python3 scripts/draw-page.py
"""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

LINES = (
    ((60, 50), "Invoice 2026-0117", (20, 20, 60), 48),
    ((60, 150), "Two apples and one pear", (0, 0, 0), 34),
    ((60, 220), "Total 12.50", (140, 0, 0), 40),
    ((560, 222), "EUR", (140, 0, 0), 38),
)

page = Image.new("RGB", (900, 620), (245, 243, 235))
for place, text, color, size in LINES:
    ImageDraw.Draw(page).text(place, text, fill=color, font=ImageFont.load_default(size))
stamp = Image.new("RGBA", (420, 80), (0, 0, 0, 0))
ImageDraw.Draw(stamp).text((10, 10), "PAID IN FULL", fill=(0, 90, 30, 255), font=ImageFont.load_default(46))
stamp = stamp.rotate(12, expand=True, resample=Image.Resampling.BICUBIC)
page.paste(stamp, (380, 380), stamp)
page.quantize(64).save(Path(__file__).parent.parent / "examples" / "photos" / "page.png", optimize=True)
