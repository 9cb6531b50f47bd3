# %% [markdown]
# # A sweep: several settings, stopped and grown
#
# Each finished run is kept in `sweep.jsonl`. Stop with Ctrl-C and start again: only what is missing
# runs. Ask for more runs or more settings later: the same.

# %%
from devote import grid, load_results, run_sweep

few = grid(problem="1", n_players=[32], eta=[0.5, 0.9], algorithm="ser3")
run_sweep(few, trials=3, workers=1, results="sweep.jsonl")
print("kept:", sum(one.trials for one in load_results("sweep.jsonl")), "runs")

# %% [markdown]
# More runs of each, and more devices. With more `workers` a script must keep this below
# `if __name__ == "__main__":`.

# %%
more = grid(problem="1", n_players=[32, 64], eta=[0.5, 0.9], algorithm="ser3")
sweep = run_sweep(more, trials=5, workers=1, results="sweep.jsonl")
for one in sweep:
    samples = one.summary()["samples"]
    interval = f"{samples.low:,.0f} to {samples.high:,.0f}"
    print(f"{one.n_players:4} players, eta {one.spec.eta}: {samples.value:7,.0f} ({interval})")

# %% [markdown]
# A picture and a table.

# %%
sweep.plot("samples", x="n_players", by="eta").figure.savefig("sweep.png")
sweep.to_csv("sweep.csv")
