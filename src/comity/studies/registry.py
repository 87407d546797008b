"""The table of studies: adding one is a file beside this one and a row here."""

from typing import TYPE_CHECKING

from comity.core.errors import ComityError
from comity.core.registry import Registry, Row
from comity.core.trust import trust

if TYPE_CHECKING:  # listing the studies imports none of what they are made of
    from comity.studies.base import Study

_HERE = "comity.studies"

STUDIES = Registry(
    "study",
    {
        "ipd": Row(f"{_HERE}.ipd:IPD", "Advantage Alignment in the iterated prisoner's dilemma"),
        "ipd-loqa": Row(f"{_HERE}.ipd_loqa:IPDLoqa", "LOQA in the iterated prisoner's dilemma, five logits"),
        "ipd-pola": Row(f"{_HERE}.ipd_pola:IPDPola", "POLA in the iterated prisoner's dilemma, with memory"),
        "coin": Row(f"{_HERE}.coin:Coin", "Advantage Alignment in the Coin Game"),
        "coin-loqa": Row(f"{_HERE}.coin_loqa:CoinLoqa", "LOQA in the Coin Game"),
        "coin-pola": Row(f"{_HERE}.coin_pola:CoinPola", "POLA in the Coin Game"),
        "coin-league": Row(f"{_HERE}.coin_league:CoinLeague", "all methods head to head in the Coin Game"),
        "coin-masks": Row(f"{_HERE}.coin_masks:CoinMasks", "cases of the alignment term left out"),
        "scaling": Row(f"{_HERE}.scaling:Scaling", "the Coin Game on larger grids: time to thresholds"),
        "negotiation": Row(f"{_HERE}.negotiation:NegotiationStudy", "Advantage Alignment in Negotiation"),
        "harvest": Row(f"{_HERE}.harvest:Harvest", "Proximal Advantage Alignment and PPO in Commons Harvest"),
        "harvest-weights": Row(
            f"{_HERE}.harvest_weights:HarvestWeights", "what the weight of the alignment term does there"
        ),
        "harvest-strangers": Row(
            f"{_HERE}.harvest_strangers:HarvestStrangers", "strangers there, and what defence is worth"
        ),
        "harvest-defence": Row(f"{_HERE}.harvest_defence:HarvestDefence", "what learns to defend it"),
        "harvest-scripted": Row(
            f"{_HERE}.harvest_scripted:HarvestScripted", "Commons Harvest with scripted players"
        ),
        "retrain": Row(f"{_HERE}.retrain:Retrain", "the zoo's recipes trained again, one seed of each"),
        "mfos": Row(f"{_HERE}.mfos:MFOSStudy", "M-FOS and its evolutionary form extort a naive learner"),
        "teams": Row(f"{_HERE}.teams:Teams", "MAPPO and IPPO in the multi-particle games"),
        "team-variants": Row(f"{_HERE}.team_variants:TeamVariants", "what MAPPO's faster forms cost"),
        "values": Row(f"{_HERE}.values:Values", "PQN-VDN, VDN, QMIX and IQL in simple-spread"),
        "dilemmas": Row(f"{_HERE}.dilemmas:Dilemmas", "learners of action values in social dilemmas"),
    },
    group="comity.studies",
)


def study_class(name: str) -> "type[Study]":
    """The study behind a name, or behind `MODULE:CLASS`; naming one of one's own runs its code."""
    from comity.studies.base import Study

    if ":" in name:
        trust(name)
    cls = STUDIES.load(name)
    if not issubclass(cls, Study):
        raise ComityError(f"{name} is not a study: a subclass of comity.studies.base.Study would be one.")
    return cls
