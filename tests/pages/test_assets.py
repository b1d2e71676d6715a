"""What the figures of a page load on request lies beside the pages, as large as they say."""

import json

from tools.check.pages import SITE


def test_every_asset_that_a_page_can_load_lies_beside_it(pages):
    wrong = []
    for page in pages.values():
        for script in page.soup.select('.mhsa-figure script[type="application/json"]'):
            asset = json.loads(script.text).get("asset")
            if asset is None:
                continue
            names = [f"{asset['key']}.{part}.js" for part in range(asset["parts"])]
            files = [SITE / "vendor" / "assets" / name for name in names]
            sizes = [file.stat().st_size if file.exists() else 0 for file in files]
            if sum(sizes) != asset["files"]:
                wrong.append(f"{page.name}: {names} have {sizes} bytes, not {asset['files']}")
    assert wrong == []
