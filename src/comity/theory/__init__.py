"""Game theory: solve, measure and explain games and populations. Arrays in, arrays out; no learning agents.

Two-player and n-player games in normal form, repeated games, learning dynamics, cooperative games, fair
division, and empirical games made from a league's payoffs. One solver per module; figures are in
`comity.theory.pictures`.
"""

from comity.theory.alpha_rank import AlphaRank, alpha_rank
from comity.theory.analysis import analyse_coalitions, analyse_game, analyse_league
from comity.theory.banzhaf import banzhaf, banzhaf_index
from comity.theory.best_response import best_responses, regret
from comity.theory.best_response_dynamics import run_best_response
from comity.theory.coalitional import (
    CoalitionalGame,
    airport,
    bankruptcy,
    from_function,
    from_table,
    gloves,
    weighted_votes,
)
from comity.theory.coalitional_tests import is_balanced, is_convex, is_monotone, is_superadditive
from comity.theory.core import BalancedWeights, Core, LeastCore, core, in_core, least_core
from comity.theory.correlated import CorrelatedEquilibrium, correlated_equilibrium, correlated_regret
from comity.theory.dominance import Dominated, Elimination, dominated_actions, eliminate_dominated
from comity.theory.elo import Decomposition, Elo, decompose, decompose_win_rates, fit_elo
from comity.theory.empirical import EmpiricalGame
from comity.theory.errors import NoConvergenceError, TheoryError
from comity.theory.exploitability import (
    LeagueExploitability,
    exploitability_gap,
    league_exploitability,
    nash_conv,
)
from comity.theory.fairness import (
    Allocation,
    best_alternative,
    best_assignment,
    divide_goods,
    envy,
    gini,
    is_envy_free,
    is_envy_free_up_to_one,
    is_proportional,
    welfare_of,
)
from comity.theory.fictitious_play import run_fictitious_play
from comity.theory.files import read_coalitions, read_game, read_league
from comity.theory.folk_theorem import PayoffRegion, grim_trigger_discount, payoff_region
from comity.theory.lemke_howson import lemke_howson, lemke_howson_all_labels
from comity.theory.logit_dynamics import run_logit, run_logit_populations
from comity.theory.memory_one import BestReply, MemoryOne, best_reply, repeated_values
from comity.theory.moran import fixation_probabilities, log_fixation, moran_stationary, simulate_moran
from comity.theory.n_player import distinct_equilibria, search_n_player, solve_n_player
from comity.theory.named_games import NAMED_GAMES, named_game
from comity.theory.normal_form import Equilibrium, NormalFormGame, equilibrium
from comity.theory.nucleolus import nucleolus
from comity.theory.psro import (
    Psro,
    Response,
    alpha_rank_meta,
    last_meta,
    matrix_oracles,
    nash_meta,
    psro,
    uniform_meta,
)
from comity.theory.pure import is_pure_equilibrium, pure_equilibria
from comity.theory.quantal_response import QuantalResponse, logit_branch, quantal_response
from comity.theory.regret_matching import RegretMatching, run_regret_matching
from comity.theory.replicator import run_replicator, run_two_populations
from comity.theory.security import Security, security
from comity.theory.shapley import SampledValue, shapley, shapley_sampled
from comity.theory.social import cooperation_rate, efficiency, equality, peace, sustainability
from comity.theory.stackelberg import Commitment, stackelberg
from comity.theory.structure import is_constant_sum, is_symmetric, is_zero_sum, potential
from comity.theory.support_enumeration import support_enumeration
from comity.theory.vertex_enumeration import vertex_enumeration
from comity.theory.welfare import (
    Optimum,
    PriceOfSelfishness,
    is_pareto_optimal,
    pareto_profiles,
    price_of_selfishness,
    social_optimum,
)
from comity.theory.zero_determinant import enforce_line, equaliser, extortioner, generous
from comity.theory.zero_sum import solve_zero_sum

__all__ = [
    "NAMED_GAMES",
    "Allocation",
    "AlphaRank",
    "BalancedWeights",
    "BestReply",
    "CoalitionalGame",
    "Commitment",
    "Core",
    "CorrelatedEquilibrium",
    "Decomposition",
    "Dominated",
    "Elimination",
    "Elo",
    "EmpiricalGame",
    "Equilibrium",
    "LeagueExploitability",
    "LeastCore",
    "MemoryOne",
    "NoConvergenceError",
    "NormalFormGame",
    "Optimum",
    "PayoffRegion",
    "PriceOfSelfishness",
    "Psro",
    "QuantalResponse",
    "RegretMatching",
    "Response",
    "SampledValue",
    "Security",
    "TheoryError",
    "airport",
    "alpha_rank",
    "alpha_rank_meta",
    "analyse_coalitions",
    "analyse_game",
    "analyse_league",
    "bankruptcy",
    "banzhaf",
    "banzhaf_index",
    "best_alternative",
    "best_assignment",
    "best_reply",
    "best_responses",
    "cooperation_rate",
    "core",
    "correlated_equilibrium",
    "correlated_regret",
    "decompose",
    "decompose_win_rates",
    "distinct_equilibria",
    "divide_goods",
    "dominated_actions",
    "efficiency",
    "eliminate_dominated",
    "enforce_line",
    "envy",
    "equaliser",
    "equality",
    "equilibrium",
    "exploitability_gap",
    "extortioner",
    "fit_elo",
    "fixation_probabilities",
    "from_function",
    "from_table",
    "generous",
    "gini",
    "gloves",
    "grim_trigger_discount",
    "in_core",
    "is_balanced",
    "is_constant_sum",
    "is_convex",
    "is_envy_free",
    "is_envy_free_up_to_one",
    "is_monotone",
    "is_pareto_optimal",
    "is_proportional",
    "is_pure_equilibrium",
    "is_superadditive",
    "is_symmetric",
    "is_zero_sum",
    "last_meta",
    "league_exploitability",
    "least_core",
    "lemke_howson",
    "lemke_howson_all_labels",
    "log_fixation",
    "logit_branch",
    "matrix_oracles",
    "moran_stationary",
    "named_game",
    "nash_conv",
    "nash_meta",
    "nucleolus",
    "pareto_profiles",
    "payoff_region",
    "peace",
    "potential",
    "price_of_selfishness",
    "psro",
    "pure_equilibria",
    "quantal_response",
    "read_coalitions",
    "read_game",
    "read_league",
    "regret",
    "repeated_values",
    "run_best_response",
    "run_fictitious_play",
    "run_logit",
    "run_logit_populations",
    "run_regret_matching",
    "run_replicator",
    "run_two_populations",
    "search_n_player",
    "security",
    "shapley",
    "shapley_sampled",
    "simulate_moran",
    "social_optimum",
    "solve_n_player",
    "solve_zero_sum",
    "stackelberg",
    "support_enumeration",
    "sustainability",
    "uniform_meta",
    "vertex_enumeration",
    "weighted_votes",
    "welfare_of",
]
