from pages import read

from cdvm.report.html.tables import Column, columns, note, pairs, table


def test_cells_are_formatted_by_what_they_are():
    text = table(
        "<Numbers>", columns("Name", "Value#"), [["a", 0.12345], ["b", 12345], ["c", None], [1, "x"]]
    )
    shown = read(text)
    assert shown.texts("th", scope="col") == ["Name", "Value"]
    assert shown.texts("th", scope="row") == ["a", "b", "c", "1"]
    assert shown.texts("td") == ["0.123", "12,345", "–", "x"]
    assert shown.texts("td", **{"class": "number"}) == shown.texts("td")
    assert shown.texts("caption") == ["<Numbers>"]
    assert [a["aria-label"] for name, a, _ in shown.found if name == "div"] == ["<Numbers>"]
    assert read(table("x", columns("a"), [[True]])).texts("th", scope="row") == ["True"]


def test_headings_have_buttons_where_a_table_can_be_sorted():
    shown = read(table("x", columns("a", "b#"), [], sortable=True, quiet=True, id="look"))
    buttons = [a["data-column"] for name, a, _ in shown.found if name == "button"]
    assert buttons == ["0", "1"]
    assert shown.texts("span", **{"class": "hidden"}) == ["x"]
    assert [a["id"] for name, a, _ in shown.found if name == "table"] == ["look"]


def test_headings_notes_and_pairs():
    assert columns("a", "b#") == [Column("a"), Column("b", True)]
    assert read(note("5 < 6")).texts("p", **{"class": "note"}) == ["5 < 6"]
    shown = read(pairs([("a", 1), ("b", "<c>")]))
    assert shown.texts("dt") == ["a", "b"]
    assert shown.texts("dd") == ["1", "<c>"]
