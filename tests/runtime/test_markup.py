"""Whatever is put into a page comes out of a parser as it was put in."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdvm._runtime.markup import Markup, embedded_json, join, tag


class Seen(HTMLParser):
    """What a reader of the page finds: elements with their attributes, and text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self.ends = [], "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        self.ends.append(name)

    def handle_data(self, data):
        self.text += data


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_any_text_is_read_back_and_opens_no_element(text, value):
    seen = Seen(tag("p", text, tag("b", text), title=value))
    assert seen.elements == [("p", {"title": value}), ("b", {})]
    assert seen.text == 2 * text
    assert seen.ends == ["b", "p"]


def test_attributes_have_the_names_of_html_and_can_be_left_out():
    seen = Seen(tag("input", class_="a b", data_row_id=3, for_="x", disabled=True, hidden=False, title=None))
    assert seen.elements == [
        ("input", {"class": "a b", "data-row-id": "3", "for": "x", "disabled": None}),
    ]  # fmt: skip
    assert seen.ends == []


def test_markup_goes_in_as_it_is_and_nothing_is_left_out_but_none():
    assert join([Markup("<i>"), "<i>", [0, ("", None, tag("br"))]]) == "<i>&lt;i&gt;0<br>"


@settings(max_examples=25, deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | TEXTS, lambda some: st.lists(some) | st.dictionaries(TEXTS, some)
    )
)
def test_json_in_a_page_is_read_back_and_cannot_end_its_script(values):
    text = embedded_json(values)
    assert json.loads(text) == values
    assert not set(text) & set("<>&\u2028\u2029")


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded_json([float("nan")])
