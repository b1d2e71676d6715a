"""The grid that a reader paints, and the tables beside it."""


def cell(page, query: str, key: str):
    return page.get_by_role("button", name=f"{query} looks at {key}", exact=True)


def whole(page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def shown(page, table: str = "Weights of the chosen head"):
    rows = page.get_by_role("table", name=table).locator("tbody tr")
    texts = "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => td.innerText))"
    return rows.evaluate_all(texts)


def written(weights, mask):
    pairs = zip(weights.tolist(), mask.tolist(), strict=True)
    return [
        [f"{w:.2f}" if may else "" for w, may in zip(row, allowed, strict=True)]
        for row, allowed in pairs
    ]


def pressed(page):
    buttons = page.get_by_role("table", name="Mask", exact=True).locator("[aria-pressed]")
    flags = buttons.evaluate_all("all => all.map(one => one.ariaPressed === 'true')")
    side = int(len(flags) ** 0.5)
    return [flags[i * side : (i + 1) * side] for i in range(side)]
