"""Game theory: solve, measure and explain games and populations. Arrays in, arrays out; no learning agents.

Every name below can be imported from here; the shelves say where to read about it:

- `normal_form`: the payoff tensor, named games, best responses, dominance, security, structure, welfare.
- `equilibria`: one solver per file: pure, enumerations, Lemke-Howson, n players, quantal, correlated.
- `dynamics`: replicator, logit, best-response and regret dynamics, fictitious play, Moran process.
- `cooperative`: coalitional games, Shapley, Banzhaf, core, nucleolus, fair division.
- `repeated`: memory-one and zero-determinant strategies, folk theorem. Values are per step.
- `empirical`: leagues as games, alpha-rank, Elo, exploitability, response oracles, social outcomes.

`readers` takes games from files, `analysis` turns them into plain data, `pictures` draws them; `errors` and
`linear_program` serve all. (`empirical.psro` is the algorithm on abstract payoffs; the one that trains
players is outside theory.)
"""

from comity.theory.analysis import analyse_coalitions, analyse_game, analyse_league
from comity.theory.cooperative.banzhaf import banzhaf, banzhaf_index
from comity.theory.cooperative.coalitional import (
    CoalitionalGame,
    airport,
    bankruptcy,
    from_function,
    from_table,
    gloves,
    weighted_votes,
)
from comity.theory.cooperative.cores import BalancedWeights, Core, LeastCore, core, in_core, least_core
from comity.theory.cooperative.fairness import (
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
from comity.theory.cooperative.nucleolus import nucleolus
from comity.theory.cooperative.properties import is_balanced, is_convex, is_monotone, is_superadditive
from comity.theory.cooperative.shapley import SampledValue, shapley, shapley_sampled
from comity.theory.dynamics.best_response_dynamics import run_best_response
from comity.theory.dynamics.fictitious_play import run_fictitious_play
from comity.theory.dynamics.logit_dynamics import run_logit, run_logit_populations
from comity.theory.dynamics.moran import (
    fixation_probabilities,
    log_fixation,
    moran_stationary,
    simulate_moran,
)
from comity.theory.dynamics.regret_matching import RegretMatching, run_regret_matching
from comity.theory.dynamics.replicator import run_replicator, run_two_populations
from comity.theory.empirical.alpha_rank import AlphaRank, alpha_rank
from comity.theory.empirical.elo import Decomposition, Elo, decompose, decompose_win_rates, fit_elo
from comity.theory.empirical.empirical_game import EmpiricalGame
from comity.theory.empirical.exploitability import (
    LeagueExploitability,
    exploitability_gap,
    league_exploitability,
    nash_conv,
)
from comity.theory.empirical.psro import (
    Psro,
    Response,
    alpha_rank_meta,
    last_meta,
    matrix_oracles,
    nash_meta,
    psro,
    uniform_meta,
)
from comity.theory.empirical.social import cooperation_rate, efficiency, equality, peace, sustainability
from comity.theory.equilibria.correlated import (
    CorrelatedEquilibrium,
    correlated_equilibrium,
    correlated_regret,
)
from comity.theory.equilibria.lemke_howson import lemke_howson, lemke_howson_all_labels
from comity.theory.equilibria.n_player import distinct_equilibria, search_n_player, solve_n_player
from comity.theory.equilibria.pure import is_pure_equilibrium, pure_equilibria
from comity.theory.equilibria.quantal_response import QuantalResponse, logit_branch, quantal_response
from comity.theory.equilibria.stackelberg import Commitment, stackelberg
from comity.theory.equilibria.support_enumeration import support_enumeration
from comity.theory.equilibria.vertex_enumeration import vertex_enumeration
from comity.theory.equilibria.wardrop import best_flow, routing_price_of_anarchy, wardrop_equilibrium
from comity.theory.equilibria.zero_sum import solve_zero_sum
from comity.theory.errors import NoConvergenceError, TheoryError
from comity.theory.normal_form.best_responses import best_responses, regret
from comity.theory.normal_form.dominance import Dominated, Elimination, dominated_actions, eliminate_dominated
from comity.theory.normal_form.game import Equilibrium, NormalFormGame, equilibrium
from comity.theory.normal_form.named_games import NAMED_GAMES, named_game
from comity.theory.normal_form.security import Security, security
from comity.theory.normal_form.structure import is_constant_sum, is_symmetric, is_zero_sum, potential
from comity.theory.normal_form.welfare import (
    Optimum,
    PriceOfSelfishness,
    is_pareto_optimal,
    pareto_profiles,
    price_of_selfishness,
    social_optimum,
)
from comity.theory.readers import read_coalitions, read_game
from comity.theory.repeated.folk_theorem import PayoffRegion, grim_trigger_discount, payoff_region
from comity.theory.repeated.memory_one import BestReply, MemoryOne, best_reply, repeated_values
from comity.theory.repeated.zero_determinant import enforce_line, equaliser, extortioner, generous

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
    "best_flow",
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
    "regret",
    "repeated_values",
    "routing_price_of_anarchy",
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
    "wardrop_equilibrium",
    "weighted_votes",
    "welfare_of",
]
