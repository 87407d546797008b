"""Networks: steps and unrolls agree, memory is cleared, statistics are those of what was seen."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import PyTree

from comity.core.errors import ComityError
from comity.core.files import named_arrays
from comity.core.spaces import Bits, Box, Discrete, Masked, Space, sample
from comity.nets import GRU, LSTM, MLP, Convolutional, Flat, GTrXL, Inputs, Network, Tabular, Torso
from comity.nets.convolution import Convolution
from comity.nets.distributions import Categorical, Choices
from comity.nets.gated_transformer import GatedTransformer
from comity.nets.heads import PolicyHead
from comity.nets.linear import Linear, product
from comity.nets.lstm_cell import LSTMCell
from comity.nets.normaliser import Normaliser
from comity.play.specs import make_agent, make_game

PLANES = Box((2, 5, 4), 0.0, 1.0)
CLOCK, NORMALISED = Inputs(clock=True), Inputs(normalise=True)
NETWORKS: list[Network] = [
    MLP(width=8, depth=2),
    GRU(width=8, after=1),
    LSTM(width=8, depth=2, after=1),
    MLP(width=8, encoder=Convolutional(filters=(3, 4))),
    GRU(width=8, encoder=Convolutional(filters=(3,), step_size=2), inputs=NORMALISED),
    LSTM(width=8, inputs=NORMALISED, orthogonal=True),
    MLP(width=8, encoder=Flat(stack=2, overlaps=True)),
    MLP(width=8, inputs=CLOCK),
    GRU(width=8, encoder=Convolutional(filters=(3,)), inputs=CLOCK, after=1),
    GTrXL(width=8, heads=2, context=3, blocks=2, after=1),
    GTrXL(width=8, heads=1, context=8, encoder=Convolutional(filters=(3,)), inputs=CLOCK),
]


@pytest.mark.long
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_an_unroll_is_its_steps(network: Network) -> None:
    torso = network.build(PLANES, jax.random.key(0))
    obs = jax.random.uniform(jax.random.key(1), (6, 3, *PLANES.shape))
    torso = torso.update_statistics(obs, jnp.ones((6, 3)))
    resets = jnp.zeros((6, 3), jnp.bool_).at[3, 1].set(True)
    features, memory = torso.unroll(torso.initial_carries(3), obs, resets)
    assert features.shape == (6, 3, torso.features)
    carry = torso.initial_carries(3)
    for t in range(6):
        clear = resets[t]
        carry = jax.tree.map(lambda x, c=clear: jnp.where(c.reshape(3, *[1] * (x.ndim - 1)), 0.0, x), carry)
        carry, now = torso.step(carry, obs[t])
        np.testing.assert_allclose(now, features[t], atol=1e-5)
    for own, last in zip(jax.tree.leaves(carry), jax.tree.leaves(memory), strict=True):
        np.testing.assert_allclose(own, last[-1], atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("network", [*NETWORKS[7:9], *NETWORKS[9:]], ids=str)
def test_an_unroll_goes_on_where_another_stopped(network: Network) -> None:
    torso = network.build(PLANES, jax.random.key(0))
    obs = jax.random.uniform(jax.random.key(1), (9, 2, *PLANES.shape))
    resets = jnp.zeros((9, 2), jnp.bool_).at[6, 1].set(True)
    whole, _ = torso.unroll(torso.initial_carries(2), obs, resets)
    first, memory = torso.unroll(torso.initial_carries(2), obs[:4], resets[:4])
    second, _ = torso.unroll(jax.tree.map(lambda x: x[-1], memory), obs[4:], resets[4:])
    np.testing.assert_allclose(jnp.concatenate([first, second]), whole, atol=1e-5)


def test_a_transformer_looks_back_as_far_as_its_context_and_not_across_episodes() -> None:
    network = GatedTransformer(3, 8, 1, 2, 3, jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (8, 1, 3))
    resets = jnp.zeros((8, 1), jnp.bool_).at[5].set(True)
    cache = jax.tree.map(lambda leaf: leaf[None], network.initial_carry())
    depends = jax.jacobian(lambda x: network.unroll(cache, x, resets)[0][:, 0].sum(axis=-1))(x)[:, :, 0]
    reached = np.abs(depends).sum(axis=-1) > 1e-9
    expected = [[0 <= t - j <= 3 and not (t >= 5 > j) for j in range(8)] for t in range(8)]
    np.testing.assert_array_equal(reached, expected)


def test_attention_by_hand() -> None:
    network = GatedTransformer(4, 4, 1, 2, 2, jax.random.key(0))
    block = network.blocks[0]
    block = eqx.tree_at(
        lambda b: (b.content_bias, b.position_bias), block,
        tuple(jax.random.normal(jax.random.key(i), (2, 2)) for i in (5, 6)),
    )  # fmt: skip
    network = eqx.tree_at(lambda n: n.blocks, network, (block,))
    x = jax.random.normal(jax.random.key(1), (2, 4))
    cache = network.initial_carry()
    for t in range(2):
        cache, out = network.step(cache, x[t])
    inputs = np.asarray(x) @ np.asarray(network.enter.weight)

    def norm(row: np.ndarray) -> np.ndarray:
        return (row - row.mean()) / np.sqrt(row.var() + 1e-5)

    query, key, value = np.split(np.stack([norm(r) for r in inputs]) @ np.asarray(block.project.weight), 3, 1)
    waves = [[np.sin(d), np.sin(d * 0.01), np.cos(d), np.cos(d * 0.01)] for d in range(2)]
    place = np.asarray(waves) @ np.asarray(block.position.weight)
    seen = np.zeros(4)
    for head in range(2):
        part = slice(2 * head, 2 * head + 2)
        u, v = np.asarray(block.content_bias)[head], np.asarray(block.position_bias)[head]
        q = query[1, part]
        score = [(q + u) @ key[j, part] + (q + v) @ place[1 - j, part] for j in range(2)]
        share = np.exp(np.asarray(score) / np.sqrt(2.0))
        seen[part] = share / share.sum() @ value[:, part]
    expected = block.finish(jnp.asarray(inputs[1]), jnp.asarray(seen, jnp.float32))
    np.testing.assert_allclose(out, expected, atol=1e-5)


def test_a_new_transformer_hardly_mixes_steps() -> None:
    network = GatedTransformer(8, 8, 2, 2, 4, jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (8,))
    _, out = network.step(network.initial_carry(), x)
    past = network.enter(x)
    assert np.linalg.norm(out - past) < 0.5 * np.linalg.norm(past)


@pytest.mark.parametrize(
    ("field", "settings"),
    [("heads", {"width": 10, "heads": 4}), ("context", {"context": 0}), ("blocks", {"blocks": 0})],
)
def test_impossible_transformers_are_refused(field: str, settings: dict[str, int]) -> None:
    with pytest.raises(ComityError, match=f"network.{field}"):
        GTrXL(**settings)  # type: ignore[arg-type]


def test_lstm_by_hand() -> None:
    cell = LSTMCell(3, 4, jax.random.key(0))
    x, h, c = (jax.random.normal(jax.random.key(i), (n,)) for i, n in ((1, 3), (2, 4), (3, 4)))
    (new_h, new_c), out = cell.step((h, c), x)
    z = np.asarray(x) @ np.asarray(cell.inputs.weight) + np.asarray(cell.inputs.bias)
    z = z + np.asarray(h) @ np.asarray(cell.hidden)
    i, f, o = (1 / (1 + np.exp(-z[4 * k : 4 * k + 4])) for k in range(3))
    expected_c = f * np.asarray(c) + i * np.tanh(z[12:])
    np.testing.assert_allclose(new_c, expected_c, rtol=1e-5)
    np.testing.assert_allclose(new_h, o * np.tanh(expected_c), rtol=1e-5)
    np.testing.assert_array_equal(out, new_h)
    assert cell.inputs.bias is not None
    np.testing.assert_array_equal(cell.inputs.bias[4:8], 1.0)


def test_convolution_by_hand() -> None:
    layer = Convolution(2, 3, 1, 1.0, jax.random.key(0))
    x = np.asarray(jax.random.normal(jax.random.key(1), (2, 4, 5)))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    expected = np.zeros((3, 4, 5))
    for o in range(3):
        for r in range(4):
            for k in range(5):
                expected[o, r, k] = (padded[:, r : r + 3, k : k + 3] * np.asarray(layer.weight)[o]).sum()
    np.testing.assert_allclose(layer(jnp.asarray(x)), expected, atol=1e-5)
    np.testing.assert_allclose(layer(jnp.asarray(x)[None, None])[0, 0], expected, atol=1e-5)


def test_orthogonal_weights_are_orthogonal() -> None:
    weight = Linear(6, 4, 2.0, jax.random.key(0), orthogonal=True).weight
    np.testing.assert_allclose(weight.T @ weight, 4.0 * np.eye(4), atol=1e-5)


def test_statistics_are_those_of_all_that_was_seen() -> None:
    draws = [3.0 + 2.0 * jax.random.normal(jax.random.key(i), (10, 7, 2)) for i in range(3)]
    weight = jnp.ones((10, 7)).at[5:].set(0.0)
    own = Normaliser(2)
    np.testing.assert_array_equal(own(draws[0]), jnp.clip(draws[0], -10, 10))
    for draw in draws:
        own = own.after(draw, weight)
    seen = np.concatenate([np.asarray(d)[:5].reshape(-1, 2) for d in draws])
    np.testing.assert_allclose(own.mean, seen.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(own.variance, seen.var(axis=0), rtol=1e-4)
    gradient = jax.grad(lambda n: n(draws[0]).sum())(own)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(gradient))


def test_half_precision_computes_low_and_keeps_float32() -> None:
    high = GRU(width=16).build(PLANES, jax.random.key(0))
    low = GRU(width=16, precision="bfloat16").build(PLANES, jax.random.key(0))
    obs = jax.random.uniform(jax.random.key(1), (4, 3, *PLANES.shape))
    resets = jnp.zeros((4, 3), jnp.bool_)
    exact, rough = (torso.unroll(torso.initial_carries(3), obs, resets)[0] for torso in (high, low))
    assert rough.dtype == jnp.float32
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(low))
    assert 0 < np.abs(exact - rough).max() < 0.05
    gradient = jax.grad(lambda t: t.unroll(t.initial_carries(3), obs, resets)[0].sum())(low)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize("after", [0, 1])
def test_a_grus_own_gradient_is_that_of_its_steps(after: int) -> None:
    torso = GRU(width=5, after=after).build(Box((3,)), jax.random.key(0))
    bias = jax.random.normal(jax.random.key(1), (5,))
    torso = eqx.tree_at(lambda own: own.memory.candidate_bias, torso, bias)
    obs = jax.random.normal(jax.random.key(2), (7, 4, 3))
    resets = jnp.zeros((7, 4), jnp.bool_).at[3, 1].set(True).at[0, 2].set(True)
    hidden = jax.random.normal(jax.random.key(3), (4, 5))

    def worth(torso: Torso, obs: jax.Array, hidden: jax.Array, forward: bool) -> jax.Array:
        start = torso.initial_carries(4)._replace(hidden=hidden)
        features, memory = torso.unroll(start, obs, resets, forward)
        return jnp.sin(3.0 * features).sum() + jnp.square(memory.hidden).sum()

    own, plain = (jax.grad(worth, (0, 1, 2))(torso, obs, hidden, forward) for forward in (False, True))
    for a, b in zip(jax.tree.leaves(own), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

    def curvature(obs: jax.Array, forward: bool) -> jax.Array:
        return jnp.square(jax.grad(worth, 1)(torso, obs, hidden, forward)).sum()

    own, plain = (jax.grad(curvature)(obs, forward) for forward in (False, True))
    np.testing.assert_allclose(own, plain, rtol=1e-3, atol=1e-3 * np.abs(plain).max())
    jax.jvp(lambda o: worth(torso, o, hidden, True), (obs,), (obs,))  # forward mode goes the plain way


def test_a_rounded_product_has_the_gradient_of_rounded_factors() -> None:
    x, weight, slope = (
        jax.random.normal(jax.random.key(i), shape) for i, shape in enumerate([(2, 3, 4), (4, 5), (2, 3, 5)])
    )
    y, pull = jax.vjp(lambda x, w: product(x, w, "bfloat16"), x, weight)
    low = [np.asarray(a.astype(jnp.bfloat16).astype(jnp.float32)) for a in (x, weight, slope)]
    np.testing.assert_allclose(y, low[0] @ low[1], rtol=1e-5)
    to_x, to_weight = pull(slope)
    np.testing.assert_allclose(to_x, low[2] @ low[1].T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(to_weight, np.einsum("tbi,tbj->ij", low[0], low[2]), rtol=1e-5, atol=1e-6)
    assert y.dtype == to_x.dtype == to_weight.dtype == jnp.float32


def test_few_outputs_over_many_rows_are_the_same_product() -> None:
    x, weight = (
        jax.random.normal(jax.random.key(0), (30, 20, 6)),
        jax.random.normal(jax.random.key(1), (6, 3)),
    )
    np.testing.assert_allclose(product(x, weight, "float32"), np.asarray(x) @ np.asarray(weight), atol=1e-5)


def test_without_a_skip_only_the_memory_is_seen_after_it() -> None:
    torso = GRU(width=8, after=1, skip=False).build(Box((3,)), jax.random.key(0))
    assert torso.after[0].weight.shape == (8, 8)
    blind = eqx.tree_at(lambda own: own.memory.inputs.weight, torso, jnp.zeros((8, 24)))
    obs = jax.random.normal(jax.random.key(1), (2, 3))
    np.testing.assert_array_equal(*[blind.step(blind.initial_carries(1), o[None])[1] for o in obs])


def test_illegal_choices_have_no_probability() -> None:
    head = PolicyHead(4, Discrete(3), jax.random.key(0))
    legal = jnp.array([[True, False, True], [False, True, False]])
    policy = head(jax.random.normal(jax.random.key(1), (2, 4)), legal)
    assert isinstance(policy, Categorical)
    probability = jax.nn.softmax(policy.logits)
    np.testing.assert_array_equal(probability == 0, ~legal)
    np.testing.assert_allclose(policy.entropy()[1], 0.0, atol=1e-6)
    assert np.isfinite(policy.kl(policy)).all()
    slope = jax.grad(lambda h: h(jnp.ones(4), legal[0]).log_prob(jnp.int32(0)))(head)
    assert not np.any(slope.linear.weight[:, 1])


def test_several_choices_are_independent() -> None:
    head = PolicyHead(4, (Discrete(3), Discrete(2)), jax.random.key(0))
    policy = head(jax.random.normal(jax.random.key(1), (5, 4)))
    assert isinstance(policy, Choices)
    raw = policy.sample(jax.random.key(2))
    assert [x.shape for x in raw] == [(5,), (5,)]
    each = [part.log_prob(own) for part, own in zip(policy.parts, raw, strict=True)]
    np.testing.assert_allclose(policy.log_prob(raw), each[0] + each[1])
    other = head(jax.random.normal(jax.random.key(3), (5, 4)))
    assert isinstance(other, Choices)
    assert (policy.kl(other) > 0).all()
    np.testing.assert_allclose(policy.kl(policy), 0.0, atol=1e-7)


def test_networks_that_do_not_fit_are_refused() -> None:
    planes_needed = r"network\.encoder convolutional needs an observation of planes"
    with pytest.raises(ComityError, match=planes_needed):
        MLP(encoder=Convolutional(filters=(4,))).check(Box((3,)))
    with pytest.raises(ComityError, match=r"network\.encoder\.overlaps needs an observation of planes"):
        GRU(encoder=Flat(overlaps=True)).check(Discrete(3))
    with pytest.raises(ComityError, match=r"network\.encoder\.filters"):
        Convolutional(filters=())
    with pytest.raises(ComityError, match="A tabular network needs a discrete observation"):
        Tabular().check(Box((3,)))
    MLP(encoder=Convolutional(filters=(4,))).check(Masked(PLANES, 3))
    for name in ("pola", "evolution"):
        agent = make_agent(name, network="mlp", **{"network.inputs.normalise": True})
        with pytest.raises(ComityError, match=r"network\.inputs\.normalise"):
            agent.check(make_game("coin").spec, (0,))


def test_paths_of_arrays_are_those_of_trained_players() -> None:
    network = GRU(after=1, encoder=Convolutional(filters=(3,)), inputs=NORMALISED)
    found = set(named_arrays(network.build(PLANES, jax.random.key(0))))
    dense = {
        f"{part}/0/{array}" for part in ("layers", "after", "convolutions") for array in ("weight", "bias")
    }
    cell = {"memory/hidden", "memory/candidate_bias", "memory/inputs/weight", "memory/inputs/bias"}
    assert found == dense | cell | {f"normaliser/{array}" for array in ("mean", "variance", "count")}


ANY_AXES: list[tuple[Network, Space]] = [
    (Tabular(), Discrete(5)),
    (MLP(width=8, encoder=Flat(stack=2, overlaps=True)), PLANES),
    (GRU(width=8, after=1, inputs=Inputs(clock=True, normalise=True)), Masked(PLANES, 3)),
    (GRU(width=8, precision="bfloat16"), Bits((3, 2, 2))),
    (LSTM(width=8), (Discrete(3), Box((2,)))),
    (GTrXL(width=8, heads=2, context=3), PLANES),
]


@pytest.mark.parametrize(("network", "space"), ANY_AXES, ids=str)
def test_any_axes_after_time_are_as_good_as_rows(network: Network, space: Space) -> None:
    """[time, seat, game] gives bit for bit what [time, row] gives, in results and gradients."""
    torso = network.build(space, jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 5 * 6)
    rows = jax.tree.map(lambda x: x.reshape((5, 6, *x.shape[1:])), jax.vmap(lambda k: sample(space, k))(keys))
    resets = jax.random.bernoulli(jax.random.key(2), 0.2, (5, 6))
    age = jnp.arange(6)

    def apart(tree: PyTree) -> PyTree:
        return jax.tree.map(lambda x: x.reshape((5, 2, 3, *x.shape[2:])), tree)

    @jax.jit
    def results(torso: Torso, obs: PyTree, resets: jax.Array, age: jax.Array) -> PyTree:
        torso = torso.update_statistics(obs, jnp.ones(resets.shape))
        first = torso.initial_carries(age.shape, age)

        def loss(torso: Torso) -> tuple[jax.Array, PyTree]:
            features, carry = torso.unroll(first, obs, resets)
            return jnp.sin(features).reshape(5, 6, -1).sum(), (features, carry)

        gradient, unrolled = jax.grad(loss, has_aux=True)(torso)
        stepped = torso.step(first, jax.tree.map(lambda x: x[0], obs))
        return gradient, unrolled, stepped

    gradient, unrolled, stepped = results(torso, rows, resets, age)
    gradient_3, unrolled_3, stepped_3 = results(torso, apart(rows), apart(resets), age.reshape(2, 3))
    assert unrolled_3[0].shape == (5, 2, 3, torso.features)
    assert stepped_3[1].shape == (2, 3, torso.features)
    jax.tree.map(np.testing.assert_array_equal, gradient, gradient_3)
    jax.tree.map(np.testing.assert_array_equal, apart(unrolled), unrolled_3)
    # A step of other shapes is another program, whose sums may round otherwise.
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b.reshape(a.shape), rtol=1e-6), stepped, stepped_3
    )
    alone, _ = torso.unroll(torso.initial_carry(), jax.tree.map(lambda x: x[:, 0], rows), resets[:, 0])
    assert alone.shape == (5, torso.features)
