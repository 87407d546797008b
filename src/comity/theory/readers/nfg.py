"""Gambit's .nfg text format for n-player games, in its payoff and its outcome version.

    NFG 1 R "title" { "Ann" "Bob" } { 2 2 }             the numbers of actions, or their names
    3 3  5 0  0 5  1 1                                   payoffs of each profile

    NFG 1 R "title" { "Ann" "Bob" } { { "C" "D" } { "C" "D" } } "an optional comment"
    { { "both" 3, 3 } { "tempted" 5, 0 } ... }           outcomes: a name, then payoffs
    1 2 3 4                                              outcome of each profile; 0 pays everyone 0

Profiles are listed with the first player's action changing fastest. Numbers may be fractions.

Source: Gambit project documentation, "The strategic game (.nfg) file format".
"""

import re
from math import prod
from typing import NamedTuple

import numpy as np

from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame

TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([{}])|([^\s{}",]+)|(,))', re.DOTALL)


class Token(NamedTuple):
    """A piece of the file and where it stands."""

    kind: str  # "text", "{", "}", "word", or "end"
    value: str
    line: int


def tokens(source: str) -> list[Token]:
    """The file's tokens; commas are white space."""
    found: list[Token] = []
    at = 0
    end = len(source.rstrip())
    while at < end:
        match = TOKEN.match(source, at)
        line = source.count("\n", 0, at) + 1
        if match is None:
            raise TheoryError(f"Line {line} has a quotation mark that is not closed; close it.")
        line = source.count("\n", 0, match.end() - len(match.group().lstrip())) + 1
        text, brace, word, _ = match.groups()
        if text is not None:
            found.append(Token("text", re.sub(r"\\(.)", r"\1", text), line))
        elif brace:
            found.append(Token(brace, brace, line))
        elif word:
            found.append(Token("word", word, line))
        at = match.end()
    return found


class Reader:
    """The tokens, one after the other, with errors that name the line."""

    def __init__(self, source: str) -> None:
        self.tokens = tokens(source)
        self.last_line = source.count("\n") + 1
        self.at = 0

    @property
    def next(self) -> Token:
        """The token that comes next; at the end one that says so."""
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", "", self.last_line)

    def take(self, kind: str, what: str) -> Token:
        """The next token, which must be of this kind."""
        token = self.next
        if token.kind != kind:
            shown = "the file's end" if token.kind == "end" else repr(token.value)
            raise TheoryError(f"Line {token.line} has {shown} where {what} should be.")
        self.at += 1
        return token

    def texts(self, what: str) -> tuple[str, ...]:
        """{ "a" "b" ... }"""
        self.take("{", f"the opening brace of {what}")
        names: list[str] = []
        while self.next.kind == "text":
            names.append(self.take("text", what).value)
        self.take("}", f"a name in quotation marks or the closing brace of {what}")
        return tuple(names)

    def number(self, what: str) -> float:
        """A finite number or fraction."""
        token = self.take("word", what)
        try:
            top, slash, bottom = token.value.partition("/")
            value = float(top) / float(bottom) if slash else float(top)
        except (ValueError, ZeroDivisionError):
            raise TheoryError(
                f"Line {token.line} has {token.value!r} where {what} should be; a number such as 3 or 1/3 "
                "would work."
            ) from None
        if not np.isfinite(value):
            raise TheoryError(f"Line {token.line} has {token.value} as {what}; use a large finite number.")
        return value

    def whole(self, what: str) -> int:
        """A whole number of at least 0."""
        line = self.next.line
        value = self.number(what)
        if value != int(value) or value < 0:
            raise TheoryError(f"Line {line} has {value} as {what}; a whole number of at least 0 would work.")
        return int(value)


def parse_nfg(source: str) -> NormalFormGame:
    """The game in the text of a .nfg file."""
    reader = Reader(source)
    for expected in ("NFG", "1"):
        token = reader.take("word", f"{expected!r} (the file begins with: NFG 1 R)")
        if token.value != expected:
            raise TheoryError(f"Line {token.line} has {token.value!r}; a .nfg file begins with: NFG 1 R.")
    if reader.next.value in ("R", "D"):
        reader.at += 1
    title = reader.take("text", "the title in quotation marks").value
    players = reader.texts("the players")
    if not players:
        raise TheoryError(f"Line {reader.next.line}: the game has no players; name at least one.")
    actions = parse_actions(reader, len(players))
    if reader.next.kind == "text":
        reader.at += 1  # a comment
    shape = tuple(len(names) for names in actions)
    payoffs = parse_outcomes(reader, shape) if reader.next.kind == "{" else parse_payoffs(reader, shape)
    if reader.next.kind != "end":
        raise TheoryError(
            f"Line {reader.next.line} has {reader.next.value!r} after the last profile; a game of shape "
            f"{shape} has {prod(shape)} profiles."
        )
    # The first player's action changes fastest: Fortran order.
    tensor = np.stack([column.reshape(shape, order="F") for column in payoffs.T])
    # Gambit allows names that are empty or given twice; numbers tell such players and actions apart.
    players = tuple(distinct(players, "player "))
    return NormalFormGame(tensor, players, tuple(tuple(distinct(names)) for names in actions), title)


def distinct(names: tuple[str, ...], prefix: str = "") -> list[str]:
    """The names if they are all different and none is empty, else numbers."""
    if len(set(names)) == len(names) and all(names):
        return list(names)
    return [f"{prefix}{k + 1}" for k in range(len(names))]


def parse_actions(reader: Reader, players: int) -> tuple[tuple[str, ...], ...]:
    """{ 2 3 } or { { "a" "b" } { "c" "d" "e" } }."""
    line = reader.take("{", "the opening brace of the actions").line
    actions: list[tuple[str, ...]] = []
    while reader.next.kind != "}":
        if reader.next.kind == "{":
            actions.append(reader.texts("a player's actions"))
        else:
            count = reader.whole("a number of actions")
            if count > len(reader.tokens):
                raise TheoryError(
                    f"Line {line} announces {count} actions; the file is too short for their payoffs."
                )
            actions.append(tuple(str(k + 1) for k in range(count)))
    reader.take("}", "the closing brace of the actions")
    if len(actions) != players or not all(actions):
        raise TheoryError(
            f"Line {line} gives actions for {len(actions)} players where {players} are named; give every "
            "player at least one action."
        )
    return tuple(actions)


def parse_payoffs(reader: Reader, shape: tuple[int, ...]) -> np.ndarray:
    """[profile, player], in the order of the file."""
    profiles = prod(shape)
    values = [
        reader.number(f"payoff {k + 1} of {profiles * len(shape)}") for k in range(profiles * len(shape))
    ]
    return np.array(values).reshape(profiles, len(shape))


def parse_outcomes(reader: Reader, shape: tuple[int, ...]) -> np.ndarray:
    """[profile, player] from a list of outcomes and an outcome for each profile."""
    reader.take("{", "the opening brace of the outcomes")
    outcomes = [[0.0] * len(shape)]
    while reader.next.kind == "{":
        reader.take("{", "an outcome")
        if reader.next.kind == "text":
            reader.at += 1  # its name
        outcomes.append([reader.number(f"a payoff of outcome {len(outcomes)}") for _ in shape])
        reader.take("}", f"the closing brace of outcome {len(outcomes) - 1}")
    reader.take("}", "the closing brace of the outcomes")
    profiles = prod(shape)
    chosen: list[list[float]] = []
    for k in range(profiles):
        line = reader.next.line
        index = reader.whole(f"the outcome of profile {k + 1} of {profiles}")
        if index >= len(outcomes):
            raise TheoryError(f"Line {line} has outcome {index}; there are only {len(outcomes) - 1}.")
        chosen.append(outcomes[index])
    return np.array(chosen)
