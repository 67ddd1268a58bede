"""The linter of prose sees what it is there for, and leaves code alone."""

from __future__ import annotations

import pytest

import prose


@pytest.mark.parametrize(
    "text",
    [
        "w goes to and fro.",
        "as told of below",
        "its time is 1/292 of that",
        "it took 1/9.6 of CRFsuite's time",
        "its scores are no probabilities",
        "1 sentences",
        "the label scheme of before",
        "columns, one behind the other",
        "retrieved as it stands",
        "a model that is trained anew",
        "in in it",
        "the most passes",
        "it knows nothing of labels",
        "a page that stands alone",
        "a label is wanted",
        "a template wants a column",
        "the file is no model",
        "loss is 'x'; it is …, or …",
    ],
)
def test_phrases_of_the_list_are_found(text):
    assert prose.phrases(text)


def test_code_is_no_prose_and_lines_keep_their_numbers():
    page = "Plain.\n\n```python\nx = 'to and fro'\n```\n\nIt goes `to and fro`.\nTo and fro.\n"
    assert [line for line, _ in prose.phrases(prose.of_page(page))] == [8]


def test_messages_are_prose_whatever_their_values_are():
    program = (
        'fail(f"{what} is wanted, not {other}")\nraise InputError(\n    f"{a}" f" wants {b}"\n)\n'
    )
    found = [line for line, _ in prose.phrases(prose.of_program(program))]
    assert found == [1, 3]
    assert not prose.phrases(prose.of_program('print(f"{what} is wanted")\n'))


def test_docstrings_and_help_texts_are_prose():
    program = 'def f():\n    """Goes to and fro."""\n    g("to and fro", help="to and fro")\n'
    assert [line for line, _ in prose.phrases(prose.of_program(program))] == [2, 3]
