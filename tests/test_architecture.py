"""The import rule: data flows one way, and so do imports."""

import ast
import importlib
from pathlib import Path
from types import ModuleType

import comity

SOURCE = Path(comity.__file__).parent

# The shelves of theory, and what each may take from its neighbours: `normal_form` stands at the bottom.
SHARED = {"errors", "linear_program", "normal_form"}
SHELVES = {
    "normal_form": {"errors", "linear_program"},
    "equilibria": SHARED,
    "dynamics": SHARED,
    "cooperative": SHARED,
    "repeated": SHARED,
    "empirical": SHARED | {"equilibria", "dynamics", "cooperative"},
    "readers": SHARED | {"cooperative", "empirical"},
    "analysis": SHARED | {"equilibria", "cooperative", "repeated", "empirical"},
}

# What `from comity.theory import ...` has always given: a name that moves to a shelf stays here too.
FLAT_NAMES = [
    "NAMED_GAMES", "Allocation", "AlphaRank", "BalancedWeights", "BestReply", "CoalitionalGame",
    "Commitment", "Core", "CorrelatedEquilibrium", "Decomposition", "Dominated", "Elimination", "Elo",
    "EmpiricalGame", "Equilibrium", "LeagueExploitability", "LeastCore", "MemoryOne", "NoConvergenceError",
    "NormalFormGame", "Optimum", "PayoffRegion", "PriceOfSelfishness", "Psro", "QuantalResponse",
    "RegretMatching", "Response", "SampledValue", "Security", "TheoryError", "airport", "alpha_rank",
    "alpha_rank_meta", "analyse_coalitions", "analyse_game", "analyse_league", "bankruptcy", "banzhaf",
    "banzhaf_index", "best_alternative", "best_assignment", "best_reply", "best_responses",
    "cooperation_rate", "core", "correlated_equilibrium", "correlated_regret", "decompose",
    "decompose_win_rates", "distinct_equilibria", "divide_goods", "dominated_actions", "efficiency",
    "eliminate_dominated", "enforce_line", "envy", "equaliser", "equality", "equilibrium",
    "exploitability_gap", "extortioner", "fit_elo", "fixation_probabilities", "from_function", "from_table",
    "generous", "gini", "gloves", "grim_trigger_discount", "in_core", "is_balanced", "is_constant_sum",
    "is_convex", "is_envy_free", "is_envy_free_up_to_one", "is_monotone", "is_pareto_optimal",
    "is_proportional", "is_pure_equilibrium", "is_superadditive", "is_symmetric", "is_zero_sum",
    "last_meta", "league_exploitability", "least_core", "lemke_howson", "lemke_howson_all_labels",
    "log_fixation", "logit_branch", "matrix_oracles", "moran_stationary", "named_game", "nash_conv",
    "nash_meta", "nucleolus", "pareto_profiles", "payoff_region", "peace", "potential",
    "price_of_selfishness", "psro", "pure_equilibria", "quantal_response", "read_coalitions", "read_game",
    "regret", "repeated_values", "run_best_response", "run_fictitious_play", "run_logit",
    "run_logit_populations", "run_regret_matching", "run_replicator", "run_two_populations",
    "search_n_player", "security", "shapley", "shapley_sampled", "simulate_moran", "social_optimum",
    "solve_n_player", "solve_zero_sum", "stackelberg", "support_enumeration", "sustainability",
    "uniform_meta", "vertex_enumeration", "weighted_votes", "welfare_of",
]  # fmt: skip

ALLOWED = {
    "core": set(),
    "drawing": {"core"},  # scenes as pixels or text, for whoever shows them
    "returns": {"core"},
    "nets": {"core"},
    "coordination": {"core"},  # mechanisms: arrays in, arrays out
    "games": {"core", "returns"},
    "learn": {"core", "returns", "nets"},
    "agents": {"core", "returns", "nets", "learn"},
    "bridges": {"core", "drawing"},
    "play": {"core", "bridges", "games", "agents", "nets"},  # networks are exported
    "training": {"core", "bridges", "play", "agents", "games"},
    "training/populations": {"core", "play", "evaluate", "theory"},  # what evolves is measured in between
    "theory": {"core"},
    "evaluate": {"core", "games", "agents", "play", "theory"},
    "report": {"core", "drawing", "evaluate", "theory"},
    # The browser application reads what others wrote; nothing waits for it.
    "web": {"core", "drawing", "games", "agents", "play", "training", "evaluate", "theory", "report"},
    "studies": {"core", "games", "agents", "play", "training", "evaluate", "theory", "report"},
    "testing": {"core", "drawing", "games", "agents", "play"},
}

TOP_LEVEL = {  # modules beside the packages
    "__init__": {"api", "comparing", "core", "play", "training"},
    "__main__": {"cli"},
    "api": set(ALLOWED),
    "comparing": {*ALLOWED, "api"},  # runs, what their players do when they meet, and the page about it
}


def imports(path: Path, within: str = "") -> set[str]:
    """The parts of Comity, or of one of its parts, that a file imports, at any depth."""
    prefix = f"comity.{within}." if within else "comity."
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith(prefix):
                found.add(name.removeprefix(prefix).split(".")[0])
    return found


def rule_of(path: Path) -> tuple[str, set[str]] | None:
    """The part of Comity that a file belongs to, and what it may import; the command line may see all."""
    place = path.relative_to(SOURCE)
    folders = [str(folder) for folder in place.parents if str(folder) in ALLOWED]  # the innermost first
    if folders:
        return place.parts[0], ALLOWED[folders[0]]
    if len(place.parts) == 1:
        return "", TOP_LEVEL[place.stem]
    assert place.parts[0] == "cli"
    return None


def test_imports_follow_the_rule() -> None:
    broken = []
    for path in SOURCE.rglob("*.py"):
        rule = rule_of(path)
        if rule is not None:
            wrong = imports(path) - rule[1] - {rule[0]}
            broken += [f"{path.relative_to(SOURCE)} imports {other}" for other in sorted(wrong)]
    assert broken == []


def test_every_part_has_a_rule() -> None:
    parts = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert parts - {"cli"} <= set(ALLOWED)
    assert {path.stem for path in SOURCE.glob("*.py")} == set(TOP_LEVEL)


def test_theory_sees_only_core_and_theory() -> None:
    files = list((SOURCE / "theory").rglob("*.py"))
    assert {path.parent.name for path in files} == {"theory", *SHELVES}
    for path in files:
        assert imports(path) <= {"core", "theory"}, path


def test_shelves_of_theory_follow_the_rule() -> None:
    broken = []
    for shelf, allowed in SHELVES.items():
        for path in (SOURCE / "theory" / shelf).glob("*.py"):
            wrong = imports(path, within="theory") - allowed - {shelf}
            broken += [f"theory/{shelf}/{path.name} imports {other}" for other in sorted(wrong)]
    assert broken == []


def test_flat_names_of_theory_are_kept() -> None:
    theory = importlib.import_module("comity.theory")
    assert len(FLAT_NAMES) == len(set(FLAT_NAMES)) == 129
    assert [name for name in FLAT_NAMES if not hasattr(theory, name)] == []
    assert set(FLAT_NAMES) <= set(theory.__all__)
    # A function must not be hidden by a module of the same name.
    assert [name for name in theory.__all__ if isinstance(getattr(theory, name), ModuleType)] == []


def test_no_file_of_theory_is_long() -> None:
    for path in (SOURCE / "theory").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 350, path


def test_what_is_exported_imports_numpy_alone() -> None:
    allowed = {"io", "json", "math", "sys", "typing", "zipfile", "numpy"}
    for path in (SOURCE / "play" / "numpy_player").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= allowed, path
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1 or node.module in allowed, path


def test_nothing_loads_code_from_files() -> None:
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not {"pickle", "dill", "cloudpickle", "marshal", "shelve"} & set(names), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "compile"}, path
