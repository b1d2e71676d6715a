"""The old address of a page leads to the new one, from a host and from a folder."""

import moved
import pytest


@pytest.mark.parametrize(("old", "new"), moved.MOVED.items())
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_an_old_address_leads_to_the_page(chromium, site, anywhere, old, new, scripts):
    assert (site / f"{new}.html").exists()
    context = chromium.new_context(java_script_enabled=scripts)
    tab = context.new_page()
    tab.goto(f"{anywhere}/{old}.html#exercises", wait_until="commit")
    anchor = "#exercises" if scripts else "*"
    tab.wait_for_url(f"{anywhere}/{new}.html{anchor}", timeout=5_000)
    assert "Primer" in tab.locator(".bd-article h1").inner_text()
    context.close()
