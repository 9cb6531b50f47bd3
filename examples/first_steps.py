# %% [markdown]
# # First steps: from click rates to an answer, and what it costs
#
# Each `# %%` begins a cell: open this file in an editor that knows them, or run it as it is.
# The words are explained in `docs/glossary.md`.

# %%
from devote import ExperimentSpec, Problem, compare, simulate

banners = Problem("banners", [0.7, 0.5, 0.3])
spec = ExperimentSpec(arms=["blue", "green", "red"], epsilon=0.1, delta=0.05)

# %% [markdown]
# Sixty-four devices, ten runs. `record=True` keeps curves over time.

# %%
result = simulate(spec, banners, n_players=64, trials=10, record=True)
print(result.summary())

# %% [markdown]
# A picture: how many banners are left after so many plays of all devices.

# %%
result.plot("arms_left").figure.savefig("arms_left.png")

# %% [markdown]
# Is another subroutine better? Both use the same random numbers, run by run: ten runs are enough.

# %%
other = simulate(spec.with_(algorithm="ugapec"), banners, n_players=64, trials=10)
print(compare(result, other))

# %% [markdown]
# As a table, for whatever you use next.

# %%
result.to_csv("trials.csv")
print(result.rows()[0]["samples"], "samples in the first run")
