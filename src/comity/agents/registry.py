"""The tables of agents: adding one is a file and a row here.

A scripted player's name means the same attitude in every family of games, so it has one row per family.
"""

from typing import Any

from comity.core.errors import ComityError, unknown_name
from comity.core.registry import Registry, Row

AGENTS = Registry(
    "agent",
    {
        "adalign": Row(
            "comity.agents.shaping.adalign:AdvantageAlignment", "Advantage Alignment: answers good with good"
        ),
        "proximal-adalign": Row(
            "comity.agents.shaping.proximal_adalign:ProximalAdvantageAlignment",
            "Advantage Alignment with PPO's clipped objective",
        ),
        "loqa": Row("comity.agents.shaping.loqa:LOQA", "learns through the others' action values"),
        "lola": Row("comity.agents.exact.lola:LOLA", "learns through the others' next steps, exact values"),
        "lola-dice": Row(
            "comity.agents.shaping.lola_dice:LOLADice", "learns through the others' next steps, by sampling"
        ),
        "pola": Row("comity.agents.shaping.pola:POLA", "LOLA with steps measured by behaviour, by sampling"),
        "sos": Row(
            "comity.agents.exact.sos:StableOpponentShaping", "LOLA as far as it is safe, exact values"
        ),
        "cola": Row(
            "comity.agents.exact.cola:COLA", "moves consistent with the others' own, learned, exact values"
        ),
        "lookahead": Row(
            "comity.agents.exact.lookahead:Lookahead", "answers the others' next step, exact values"
        ),
        "consensus": Row(
            "comity.agents.exact.consensus:Consensus", "seeks where nobody wants to move, exact values"
        ),
        "naive": Row("comity.agents.exact.naive:Naive", "follows its own gradient only, exact values"),
        "mfos": Row("comity.agents.shaping.mfos:MFOS", "model-free opponent shaping: PPO on a meta-game"),
        "evolution": Row(
            "comity.agents.evolution.evolution:Evolution",
            "evolution strategies; on a meta-game, M-FOS without PPO",
        ),
        "a2c": Row("comity.agents.on_policy.a2c:A2C", "advantage actor-critic"),
        "impala": Row(
            "comity.agents.on_policy.impala:IMPALA",
            "actor-critic that learns from older policies, by V-trace",
        ),
        "ppo": Row("comity.agents.on_policy.ppo:PPO", "proximal policy optimisation"),
        "trpo": Row("comity.agents.on_policy.trpo:TRPO", "trust region policy optimisation"),
        "ippo": Row("comity.agents.on_policy.mappo:IPPO", "PPO for each seat by itself, as MAPPO is set"),
        "mappo": Row("comity.agents.on_policy.mappo:MAPPO", "PPO whose critic sees what everybody sees"),
        "dial": Row("comity.agents.communication.dial:DIAL", "Q-learning of a team through its messages"),
        "commnet": Row("comity.agents.communication.commnet:CommNet", "PPO for a team that shares a mean"),
        "tarmac": Row("comity.agents.communication.tarmac:TarMAC", "PPO for a team that attends to messages"),
        "ic3net": Row("comity.agents.communication.ic3net:IC3Net", "PPO for a team that gates its talk"),
        "talking-a2c": Row("comity.agents.communication.base:TalkingA2C", "A2C for a team that talks"),
        "dqn": Row(
            "comity.agents.off_policy.dqn:DQN", "deep Q-learning from a replay: double, duelling, n-step"
        ),
        "iql": Row("comity.agents.off_policy.dqn:IQL", "DQN for each seat of a team by itself"),
        "vdn": Row("comity.agents.off_policy.vdn:VDN", "Q-learning for a team: joint values are sums"),
        "qmix": Row(
            "comity.agents.off_policy.qmix:QMIX", "Q-learning for a team: joint values are monotonic"
        ),
        "qplex": Row("comity.agents.off_policy.qplex:QPLEX", "Q-learning for a team: any joint values"),
        "pqn": Row("comity.agents.off_policy.pqn:PQN", "Q-learning on many games at once, without a replay"),
        "pqn-vdn": Row("comity.agents.off_policy.pqn:PQNVDN", "PQN for a team: joint values are sums"),
        "jal": Row(
            "comity.agents.off_policy.jal:JAL", "values of joint actions, met by what the others usually do"
        ),
        "maac": Row(
            "comity.agents.off_policy.maac:MAAC", "soft actors whose critic attends to the rest of the team"
        ),
        "coma": Row(
            "comity.agents.on_policy.coma:COMA", "a team that learns from what each seat's action changed"
        ),
        "central-pg": Row(
            "comity.agents.on_policy.central_pg:CentralPolicyGradient",
            "a team whose seats climb the value of the joint action",
        ),
        "ddpg": Row("comity.agents.off_policy.ddpg:DDPG", "deterministic policy gradient, from a replay"),
        "td3": Row("comity.agents.off_policy.td3:TD3", "DDPG with twin critics, delay and smoothing"),
        "sac": Row("comity.agents.off_policy.sac:SAC", "soft actor-critic: paid for entropy, from a replay"),
        "maddpg": Row("comity.agents.off_policy.maddpg:MADDPG", "DDPG whose critics read all seats' actions"),
        "matd3": Row("comity.agents.off_policy.matd3:MATD3", "TD3 whose critics read all seats' actions"),
        "masac": Row("comity.agents.off_policy.masac:MASAC", "SAC whose critics read all seats' actions"),
    },
    "comity.agents",
)

ANY_FAMILY = Registry(
    "scripted player", {"random": Row("comity.agents.scripted.base:Random", "draws evenly from all actions")}
)

_MEMORY = "comity.agents.scripted.memory"
_COIN = "comity.agents.scripted.coin"
_HARVEST = "comity.agents.scripted.harvest"
_BARGAINING = "comity.agents.scripted.bargaining"
_AUCTION = "comity.agents.scripted.auction"
_SIGNALLING = "comity.agents.scripted.signalling"
_APPLIED = "comity.agents.scripted.applied"
_NEGOTIATION = "comity.agents.scripted.negotiation"

SCRIPTED = {
    "matrix": Registry(
        "scripted player",
        {
            "always-cooperate": Row(f"{_MEMORY}:AlwaysCooperate", "cooperates, whatever happens"),
            "always-defect": Row(f"{_MEMORY}:AlwaysDefect", "defects, whatever happens"),
            "tit-for-tat": Row(f"{_MEMORY}:TitForTat", "cooperates first, then does what the other did"),
            "generous-tit-for-tat": Row(f"{_MEMORY}:GenerousTitForTat", "tit-for-tat that forgives at times"),
            "tit-for-two-tats": Row(f"{_MEMORY}:TitForTwoTats", "defects after two defections in a row"),
            "suspicious-tit-for-tat": Row(f"{_MEMORY}:SuspiciousTitForTat", "tit-for-tat that defects first"),
            "grim-trigger": Row(f"{_MEMORY}:GrimTrigger", "cooperates until the other defects once"),
            "win-stay-lose-shift": Row(f"{_MEMORY}:WinStayLoseShift", "changes its move after a defection"),
            "contrite-tit-for-tat": Row(
                f"{_MEMORY}:ContriteTitForTat", "tit-for-tat that takes the punishment for its own accidents"
            ),
            "extortioner": Row(f"{_MEMORY}:Extortioner", "zero-determinant: takes a multiple of the surplus"),
            "memory-one": Row(f"{_MEMORY}:MemoryOne", "any five probabilities of cooperation"),
            "stranger": Row(
                "comity.agents.scripted.matrix_strangers:MatrixStranger", "in each episode another character"
            ),
        },
    ),
    "coin": Registry(
        "scripted player",
        {
            "always-cooperate": Row(f"{_COIN}:AlwaysCooperate", "takes only its own coins"),
            "always-defect": Row(f"{_COIN}:AlwaysDefect", "takes every coin"),
            "tit-for-tat": Row(f"{_COIN}:TitForTat", "takes every coin for a while after a theft"),
        },
    ),
    "commons-harvest": Registry(
        "scripted player",
        {
            "greedy": Row(f"{_HARVEST}:Greedy", "walks to the nearest apple and eats it"),
            "sustainable": Row(f"{_HARVEST}:Sustainable", "leaves the last apples of a bush"),
            "free-rider": Row(f"{_HARVEST}:FreeRider", "greedy, and zaps whoever comes near"),
            "bystander": Row(f"{_HARVEST}:Bystander", "stands still"),
            "stranger": Row(f"{_HARVEST}_strangers:Stranger", "selfish and imperfect, and never zaps"),
            "zapper": Row(f"{_HARVEST}_strangers:Zapper", "a stranger that also fires at random"),
            "guardian": Row(f"{_HARVEST}_guards:Guardian", "sustainable, and zaps who over-harvests"),
            "warden": Row(f"{_HARVEST}_guards:Warden", "a guardian that also chases them"),
        },
    ),
    "negotiation": Registry(
        "scripted player",
        {
            "always-cooperate": Row(f"{_NEGOTIATION}:AlwaysCooperate", "takes what is worth more to it"),
            "always-defect": Row(f"{_NEGOTIATION}:AlwaysDefect", "takes all it can"),
            "tit-for-tat": Row(f"{_NEGOTIATION}:TitForTat", "takes all for a while after a greedy proposal"),
        },
    ),
    "bargaining": Registry(
        "scripted player",
        {
            "fair": Row(f"{_BARGAINING}:Fair", "offers half, accepts no less"),
            "greedy": Row(f"{_BARGAINING}:Greedy", "offers nothing, accepts only everything"),
            "subgame-perfect": Row(f"{_BARGAINING}:SubgamePerfect", "backward induction"),
        },
    ),
    "auction": Registry(
        "scripted player",
        {
            "truthful": Row(f"{_AUCTION}:Truthful", "names what the item is worth to it"),
            "shading": Row(f"{_AUCTION}:Shading", "bids a part of it"),
            "equilibrium": Row(f"{_AUCTION}:EquilibriumBidder", "bids as in the known equilibrium"),
        },
    ),
    "signalling": Registry(
        "scripted player",
        {
            "convention": Row(f"{_SIGNALLING}:Convention", "each symbol names the value of its attribute"),
            "babbler": Row(f"{_SIGNALLING}:Babbler", "says and guesses anything"),
        },
    ),
    "cournot": Registry(
        "scripted player",
        {"firm": Row(f"{_APPLIED}:Firm", "sells the equilibrium's or cartel's share")},
    ),
    "fish-war": Registry(
        "scripted player",
        {"fisher": Row(f"{_APPLIED}:Fisher", "takes a fixed share of the stock")},
    ),
    "routing": Registry(
        "scripted player", {"driver": Row(f"{_APPLIED}:Driver", "takes the way that was quickest yesterday")}
    ),
}


def is_scripted(name: str) -> bool:
    """Whether the name is that of a scripted player in some family of games."""
    return name in ANY_FAMILY or any(name in registry for registry in SCRIPTED.values())


def is_untrained_player(name: str) -> bool:
    """Whether the name is that of an agent that plays without being trained: scripted, or another's."""
    if is_scripted(name):
        return True
    return ":" not in name and name in AGENTS and not AGENTS.load(name).learns


def agent_class(name: str, family: str) -> type[Any]:
    """The class behind an agent's name in a family of games, or `MODULE:CLASS` if the user named it."""
    if ":" in name:
        return AGENTS.load(name)
    scripted = SCRIPTED.get(family)
    for registry in (AGENTS, ANY_FAMILY, scripted):
        if registry is not None and name in registry:
            return registry.load(name)
    if is_scripted(name):
        known = list(ANY_FAMILY.rows()) + (list(scripted.rows()) if scripted else [])
        raise ComityError(
            f"The scripted player {name!r} does not play games of the {family} family; "
            f"the scripted players there are: {', '.join(known)}."
        )
    known = [*AGENTS.rows(), *ANY_FAMILY.rows(), *(scripted.rows() if scripted else ())]
    raise unknown_name("agent", name, known)


def agent_name(cls: type[Any]) -> str:
    """The name of an agent's class."""
    target = f"{cls.__module__}:{cls.__qualname__}"
    for registry in (ANY_FAMILY, *SCRIPTED.values()):
        for name, row in registry.rows().items():
            if row.target == target:
                return name
    return AGENTS.name_of(cls)
