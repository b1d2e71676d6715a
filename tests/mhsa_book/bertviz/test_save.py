"""A view is saved as a file that a browser opens, whole or not at all."""

from dataclasses import replace

import pytest

from mhsa_book.bertviz import head_view
from tests.mhsa_book.bertviz.frames import views, weights

pytest.importorskip("bertviz")


@views
def test_a_saved_view_opens_with_the_libraries_beside_it_and_draws(
    browser, vendor, tmp_path, view
):
    for file in vendor.glob("*.min.js"):
        (tmp_path / file.name).symlink_to(file)
    path = view(weights(), list("abc"), libraries=".").save(tmp_path / "view.html")
    page, wrong = browser.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("line", state="attached")
    assert page.locator("line").count() >= 9
    assert wrong == []
    assert {url.rpartition("/")[0] for url in asked} == {tmp_path.as_uri()}
    page.close()


def test_a_file_of_that_name_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "view.html"
    path.write_text("old", encoding="utf-8")
    view = head_view(weights(), ["É", "😀", "</script>"])
    assert view.save(str(path)) == path
    assert path.read_text(encoding="utf-8") == view.page
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "view.html"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        replace(head_view(weights(), list("abc")), page="half a \ud800").save(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        head_view(weights(), list("abc")).save(tmp_path / "nowhere" / "view.html")


def test_where_a_folder_has_that_name_nothing_is_left_behind(tmp_path):
    (tmp_path / "view.html").mkdir()
    with pytest.raises(OSError, match=r"view\.html"):
        head_view(weights(), list("abc")).save(tmp_path / "view.html")
    assert [path.name for path in tmp_path.iterdir()] == ["view.html"]


@pytest.mark.bothways
@pytest.mark.parametrize("name", ["view", "view.txt", "."])
def test_a_name_that_no_browser_takes_for_a_page_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"does not end in \.html"):
        head_view(weights(), list("abc")).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
