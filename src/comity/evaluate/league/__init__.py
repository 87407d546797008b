"""Leagues: every player meets every player, and what each earns is measured."""

from comity.evaluate.league.files import league_from_data as league_from_data
from comity.evaluate.league.files import read_league as read_league
from comity.evaluate.league.kinds import average_seeds as average_seeds
from comity.evaluate.league.kinds import by_kind as by_kind
from comity.evaluate.league.play import play_league as play_league
from comity.evaluate.league.result import League as League
from comity.evaluate.league.result import Outcome as Outcome
