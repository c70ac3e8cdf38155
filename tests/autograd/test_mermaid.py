"""Tapes drawn as Mermaid graphs."""

from __future__ import annotations

from tapegrad.autograd.mermaid import flow


def test_nodes_come_before_arrows() -> None:
    assert flow(["leaf", "exp (3,)"], [(0, 1), (0, 1)]).splitlines() == [
        "graph TD",
        '    n0["leaf"]',
        '    n1["exp (3,)"]',
        "    n0 --> n1",
        "    n0 --> n1",
    ]


def test_mermaid_syntax_in_names_is_escaped() -> None:
    # Looked at in Mermaid 11.17: of `<lambda>` it drew nothing.
    assert flow(['a "b" #1'], []) == 'graph TD\n    n0["a #quot;b#quot; #35;1"]'
    assert flow(["<lambda> &\n(2,)"], []) == 'graph TD\n    n0["#lt;lambda#gt; #38; (2,)"]'
