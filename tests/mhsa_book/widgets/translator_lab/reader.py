"""What a reader does with the translator, and sees."""

CROSS = [f"cross L1H{h}" for h in range(4)]
SENTENCE = "tekan ul meti balo ip sako"


def load(page):
    page.get_by_role("button", name="Load the model").click()
    page.locator(".mhsa-said-words").wait_for()
    return page


def words(page):
    """The words of the strip, with what a screen reader hears of each."""
    return page.locator(".mhsa-said-words button .mhsa-hidden").all_inner_texts()


def translation(page):
    """What the page says without marks, and without the end."""
    return " ".join(page.locator("button .mhsa-text").all_inner_texts()[:-1])


def head(page, name):
    return page.get_by_role("checkbox", name=name, exact=True)
