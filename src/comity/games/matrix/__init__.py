"""Iterated matrix games: any payoff tensor, and those with names."""

from comity.games.matrix.battle_of_the_sexes import BattleOfTheSexes as BattleOfTheSexes
from comity.games.matrix.chicken import Chicken as Chicken
from comity.games.matrix.iterated import IteratedMatrixGame as IteratedMatrixGame
from comity.games.matrix.iterated import MatrixState as MatrixState
from comity.games.matrix.iterated import symmetric_payoffs as symmetric_payoffs
from comity.games.matrix.matching_pennies import MatchingPennies as MatchingPennies
from comity.games.matrix.prisoners_dilemma import PrisonersDilemma as PrisonersDilemma
from comity.games.matrix.rock_paper_scissors import RockPaperScissors as RockPaperScissors
from comity.games.matrix.stag_hunt import StagHunt as StagHunt
from comity.games.matrix.tensor import MatrixGame as MatrixGame
