"""What is missing is told from what a reader no longer waits for."""

import pytest

from tools.check.browser import Visit, listen, serve

NEXT = "next.html"


@pytest.fixture
def heard(chromium, tmp_path):
    """Open a page with this body, leave it for another, and return what was complained of."""
    (tmp_path / NEXT).write_text('<link rel="icon" href="data:,">', encoding="utf-8")

    def leave(body):
        (tmp_path / "page.html").write_text(
            f'<link rel="icon" href="data:,">{body}', encoding="utf-8"
        )
        tab, seen = chromium.new_page(), Visit("page")
        tab.route("**/late.svg", lambda route: None)  # it never comes
        with serve(tmp_path) as address:
            listen(tab, seen, address)
            tab.goto(f"{address}/page.html", wait_until="commit")
            tab.locator("img").wait_for(state="attached")
            if "late" not in body:
                tab.wait_for_load_state("load")
            tab.goto(f"{address}/{NEXT}", wait_until="load")
        tab.close()
        return seen.failed, seen.asked

    return leave


def test_a_picture_that_is_on_its_way_when_the_page_is_left_is_not_missing(heard):
    assert heard('<img src="late.svg">') == ([], [])


def test_a_picture_that_is_not_there_is_missing(heard):
    (failed,), asked = heard('<img src="no.svg">')
    assert failed.endswith("/no.svg (404)")
    assert asked == []


def test_a_picture_of_another_host_is_asked_for_in_vain(heard):
    there = "https://example.com/a.svg"
    assert heard(f'<img src="{there}">') == ([there], [there])
