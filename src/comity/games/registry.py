"""The table of games: adding one is a file beside this one and a row here."""

from comity.core.registry import Registry, Row

GAMES = Registry(
    "game",
    {
        "prisoners-dilemma": Row(
            "comity.games.matrix.prisoners_dilemma:PrisonersDilemma", "iterated prisoner's dilemma, 2 players"
        ),
        "stag-hunt": Row(
            "comity.games.matrix.stag_hunt:StagHunt", "trust or safety: stag together or hare alone"
        ),
        "chicken": Row("comity.games.matrix.chicken:Chicken", "who dares wins, unless both do"),
        "battle-of-the-sexes": Row(
            "comity.games.matrix.battle_of_the_sexes:BattleOfTheSexes", "meet, but where: A or B"
        ),
        "matching-pennies": Row(
            "comity.games.matrix.matching_pennies:MatchingPennies", "zero-sum: match or differ"
        ),
        "rock-paper-scissors": Row(
            "comity.games.matrix.rock_paper_scissors:RockPaperScissors", "zero-sum: the cycle of three"
        ),
        "public-goods": Row("comity.games.public_goods:PublicGoods", "N players contribute to a shared pot"),
        "coin": Row(
            "comity.games.coin:CoinGame", "the Coin Game: walk, take coins, leave or steal the other's"
        ),
        "commons-harvest-open": Row(
            "comity.games.commons_harvest:CommonsHarvestOpen",
            "Melting Pot's: bushes that can be eaten bare",
        ),
        "commons-harvest": Row("comity.games.commons_harvest:CommonsHarvest", "the same on any map"),
        "negotiation": Row("comity.games.negotiation:Negotiation", "divide items by continuous proposals"),
        "alternating-offers": Row(
            "comity.games.bargaining:AlternatingOffers", "turn by turn: divide a pie that shrinks"
        ),
        "matrix-game": Row(
            "comity.games.matrix.tensor:MatrixGame", "any payoff tensor, any number of players"
        ),
        "meta-game": Row("comity.games.meta:MetaGame", "shape naive learners: one step is a whole episode"),
        "learner-game": Row(
            "comity.games.learner:LearnerGame", "shape a naive learner, step by step in several games at once"
        ),
        "simple-spread": Row("comity.games.particles.spread:Spread", "particles: cover all landmarks"),
        "simple-reference": Row(
            "comity.games.particles.reference:Reference", "particles: tell each other where to go"
        ),
        "simple-speaker-listener": Row(
            "comity.games.particles.speaker_listener:SpeakerListener", "particles: one knows, the other walks"
        ),
        "simple-tag": Row("comity.games.particles.tag:Tag", "particles: hunters and faster prey"),
        "simple-adversary": Row(
            "comity.games.particles.adversary:Adversary", "particles: hide which place matters"
        ),
        "simple-push": Row("comity.games.particles.push:Push", "particles: keep the other from its goal"),
        "simple-world-comm": Row(
            "comity.games.particles.world_comm:WorldComm", "particles: tag, forests, a leader"
        ),
        "simple-crypto": Row("comity.games.particles.crypto:Crypto", "particles: a secret message and a key"),
        "climbing": Row(
            "comity.games.cooperative.climbing:Climbing", "common interest: 11 together, -30 beside it"
        ),
        "penalty": Row(
            "comity.games.cooperative.penalty:Penalty", "common interest: two best ways, no mixing"
        ),
        "two-step": Row(
            "comity.games.cooperative.two_step:TwoStep", "common interest: a safe game or a risky one"
        ),
        "switch-riddle": Row(
            "comity.games.switch_riddle:SwitchRiddle", "prisoners, a room, and a switch of one bit"
        ),
        "sealed-bid": Row(
            "comity.games.auctions.sealed_bid:SealedBidAuction", "one item, private values, one bid each"
        ),
        "double-auction": Row(
            "comity.games.auctions.double_auction:DoubleAuctionGame", "a buyer and a seller each name a price"
        ),
        "signalling": Row("comity.games.signalling:Signalling", "Lewis' game: one speaks, one guesses"),
        "foraging": Row("comity.games.foraging:Foraging", "level-based foraging: food that takes several"),
        "cournot": Row("comity.games.applied.cournot:Cournot", "applied: firms choose what they sell"),
        "fish-war": Row("comity.games.applied.fish_war:FishWar", "applied: nations fish in one sea"),
        "routing": Row(
            "comity.games.applied.routing:Routing", "applied: drivers choose ways and slow each other down"
        ),
        "probe-observation": Row(
            "comity.games.probes.observation:ProbeObservation", "probe: does the critic read its input"
        ),
        "probe-discount": Row(
            "comity.games.probes.discount:ProbeDiscount", "probe: discounting and termination"
        ),
        "probe-truncation": Row(
            "comity.games.probes.truncation:ProbeTruncation", "probe: truncation is bootstrapped"
        ),
        "probe-choice": Row(
            "comity.games.probes.choice:ProbeChoice", "probe: the policy depends on the observation"
        ),
        "probe-memory": Row(
            "comity.games.probes.memory:ProbeMemory", "probe: only a policy with memory solves it"
        ),
        "probe-target": Row("comity.games.probes.target:ProbeTarget", "probe: continuous actions"),
        "probe-odd-seats": Row(
            "comity.games.probes.odd_seats:ProbeOddSeats", "probe: three unlike seats, one leaves early"
        ),
    },
    "comity.games",
)

HOSTS = Registry(
    "kind of environment",
    {
        "pettingzoo": Row(
            "comity.bridges.host:PettingZooGame", "pettingzoo:MODULE, any PettingZoo environment"
        ),
        "gymnasium": Row("comity.bridges.host:GymnasiumGame", "gymnasium:NAME, any Gymnasium environment"),
        "meltingpot": Row("comity.bridges.host:MeltingPotGame", "meltingpot:NAME, any Melting Pot substrate"),
        "python": Row("comity.bridges.host:PythonGame", "MODULE:FUNCTION, an environment of one's own"),
    },
)

TRANSFORMS = Registry(
    "transform",
    {
        "shared-reward": Row(
            "comity.games.transforms.shared_reward:SharedReward", "rewards shared between the seats"
        ),
        "shaped-reward": Row(
            "comity.games.transforms.shaped_reward:ShapedReward", "rewards by a function of one's own"
        ),
        "inequity-aversion": Row(
            "comity.games.transforms.inequity_aversion:InequityAversion",
            "what others have more, or less, hurts",
        ),
        "social-value": Row(
            "comity.games.transforms.social_value:SocialValue",
            "seats want a share for others: selfish to altruistic",
        ),
        "time-limit": Row(
            "comity.games.transforms.time_limit:TimeLimit", "episodes cut off after a number of steps"
        ),
        "trembling-hand": Row(
            "comity.games.transforms.trembling_hand:TremblingHand", "actions replaced by random ones"
        ),
        "padded-seats": Row(
            "comity.games.transforms.padded_seats:PaddedSeats",
            "unlike seats made alike: padded, with legal choices",
        ),
        "gifting": Row("comity.games.transforms.gifting:Gifting", "seats may give each other reward"),
        "contract": Row("comity.games.transforms.contract:Contract", "fines that all sign before play"),
        "channel": Row("comity.games.transforms.channel:Channel", "seats that talk beside the game"),
    },
)
