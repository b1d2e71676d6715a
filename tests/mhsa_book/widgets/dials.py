"""The dials of sizes that a reader types and slides, and what is said to move along."""

GPT2 = {"batch": 1, "seq": 1024, "d_model": 768, "n_heads": 12}


def exactly(page, name: str):
    return page.get_by_label(f"{name}, exactly")


def sizes(page, *names: str) -> list[int]:
    return [int(exactly(page, name).input_value()) for name in names]


def along(page) -> str:
    return page.locator(".mhsa-notice [aria-live]").inner_text()


def slide(page, name: str, *keys: str) -> None:
    for key in keys:
        page.get_by_label(name, exact=True).press(key)
