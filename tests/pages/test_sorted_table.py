"""The benchmark's table on its page: sorted by a head, filtered by words, also by keyboard."""

import pytest

from tools.check.browser import PHONE, settle

PAGE = "notebooks/lab_12_kernels_on_a_cpu.html"


@pytest.fixture
def table(tab, address):
    tab.goto(f"{address}/{PAGE}", wait_until="load")
    tab.wait_for_selector(".mhsa-filter input")
    return tab


def rows(tab):
    return tab.locator("table[data-sorted] tbody tr").all_inner_texts()


def column(tab, name):
    heads = tab.locator("table[data-sorted] thead th").all_inner_texts()
    at = [head.strip(" ↕↑↓\n") for head in heads].index(name)
    return [row.split("\t")[at] for row in rows(tab)]


def test_a_click_sorts_numbers_as_numbers_and_another_turns_them_round(table):
    head = table.locator("button.datatable-sorter", has_text="ours / best")
    head.click()
    found = [float(text) for text in column(table, "ours / best")]
    assert found == sorted(found)
    assert table.locator("th[aria-sort=ascending]").count() == 1
    head.focus()
    table.keyboard.press("Enter")
    assert [float(text) for text in column(table, "ours / best")] == found[::-1]
    tokens = table.locator("button.datatable-sorter", has_text="tokens")
    tokens.click()
    found = [int(text) for text in column(table, "tokens")]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_words_filter_rows_and_the_count_is_said(table):
    everything = len(rows(table))
    table.locator(".mhsa-filter input").fill("training bfloat16")
    settle(table)
    assert set(column(table, "mode")) == {"training"}
    assert set(column(table, "precision")) == {"bfloat16"}
    assert (
        table.locator(".mhsa-filter [role=status]").inner_text() == f"{len(rows(table))} rows"
    )
    table.locator(".mhsa-filter input").fill("nothing has this")
    settle(table)
    assert rows(table) == ["No row has all these words."]
    table.locator(".mhsa-filter input").fill("")
    settle(table)
    assert len(rows(table)) == everything


def test_on_a_phone_the_table_scrolls_and_the_page_does_not(table):
    table.set_viewport_size(PHONE)
    settle(table)
    assert table.evaluate("document.documentElement.scrollWidth <= innerWidth")
