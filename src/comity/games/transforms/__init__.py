"""Games made from games: rewards shared or shaped, time limits, trembling hands, padded seats, talk."""

from comity.games.transforms.base import Transform as Transform
from comity.games.transforms.channel import Channel as Channel
from comity.games.transforms.contract import Contract as Contract
from comity.games.transforms.gifting import Gifting as Gifting
from comity.games.transforms.inequity_aversion import InequityAversion as InequityAversion
from comity.games.transforms.messages import Symbols as Symbols
from comity.games.transforms.messages import Vector as Vector
from comity.games.transforms.padded_seats import PaddedSeats as PaddedSeats
from comity.games.transforms.shaped_reward import ShapedReward as ShapedReward
from comity.games.transforms.shared_reward import SharedReward as SharedReward
from comity.games.transforms.social_value import SocialValue as SocialValue
from comity.games.transforms.time_limit import TimeLimit as TimeLimit
from comity.games.transforms.time_limit import with_horizon as with_horizon
from comity.games.transforms.trembling_hand import TremblingHand as TremblingHand
