"""Games in normal form: the tensor of payoffs, and what it says before any equilibrium is sought."""

from comity.theory.normal_form.game import Equilibrium, NormalFormGame, Profile, equilibrium

__all__ = ["Equilibrium", "NormalFormGame", "Profile", "equilibrium"]
