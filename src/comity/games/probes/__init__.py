"""Tiny games with known answers, to find out which part of a learner is broken.

Each docstring gives the answer. They follow the idea of probe environments: if a learner fails on one of
these, the part that this probe isolates is wrong.
"""

from comity.games.probes.base import Probe as Probe
from comity.games.probes.base import ProbeState as ProbeState
from comity.games.probes.choice import ProbeChoice as ProbeChoice
from comity.games.probes.discount import ProbeDiscount as ProbeDiscount
from comity.games.probes.memory import ProbeMemory as ProbeMemory
from comity.games.probes.observation import ProbeObservation as ProbeObservation
from comity.games.probes.odd_seats import ProbeOddSeats as ProbeOddSeats
from comity.games.probes.target import ProbeTarget as ProbeTarget
from comity.games.probes.truncation import ProbeTruncation as ProbeTruncation
