"""What the figures of a page load on request lies beside the pages, as large as they say."""

import json

from tools.check.pages import SITE

FOLDER = SITE / "vendor" / "assets"
WHOLE_BOOK = 400_000_000  # bytes of all files


def assets_of(pages):
    """Every asset that a figure of a page can load, with the page's name."""
    for page in pages.values():
        for script in page.soup.select('.mhsa-figure script[type="application/json"]'):
            state = json.loads(script.text)
            for name in ("asset", "engine"):
                if name in state:
                    yield page.name, state[name]


def wrong_size(asset, suffix, expected):
    names = [f"{asset['key']}.{part}.{suffix}" for part in range(asset["parts"])]
    files = [FOLDER / name for name in names]
    sizes = [file.stat().st_size if file.exists() else 0 for file in files]
    return [] if sum(sizes) == expected else [f"{names} have {sizes} bytes, not {expected}"]


def test_every_asset_that_a_page_can_load_lies_beside_it(pages):
    wrong = []
    for page, asset in assets_of(pages):
        found = wrong_size(asset, "js", asset["files"])
        if asset.get("plain"):
            found += wrong_size(asset, "bin", asset["bytes"])
        wrong += [f"{page}: {each}" for each in found]
    assert wrong == []


def test_the_whole_book_stays_within_its_budget(site, say):
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    say("The built book", [f"{size / 1e6:.0f} MB, limit {WHOLE_BOOK / 1e6:.0f} MB"])
    assert size <= WHOLE_BOOK
