# %% [markdown]
# # Your own clicks: a log of what was shown, as a problem
#
# A log has a time, an arm and a reward per event. Here it is made up by `made_log`, as a site would
# have it that shows banners at random; put the name of your own file in its place.

# %%
import csv

from devote import ExperimentSpec, read_log, simulate
from devote.problems import made_log

made = made_log([0.5, 0.3, 0.2], 5_000, seed=1, names=["blue", "green", "red"])
with open("clicks.csv", "w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file)
    rows.writerow(["time", "arm", "reward"])
    for time, (arm, reward) in enumerate(zip(made.played, made.rewards, strict=True)):
        rows.writerow([time, made.arms[arm], reward])

# %% [markdown]
# Read it. Where the columns have other names: `columns=("when", "what", "paid")`.

# %%
log = read_log("clicks.csv")
print(log)
for arm, rewards in zip(log.arms, log.by_arm(), strict=True):
    print(f"{arm:6} shown {len(rewards):,} times")

# %% [markdown]
# Two ways to replay it, and what each assumes: `docs/simulate.md`.

# %%
spec = ExperimentSpec(arms=log.arms, epsilon=0.15)
for how in ("resample", "reject"):
    result = simulate(spec, log.problem(how=how), n_players=32, trials=5)
    answers = {log.arms[arm] for arm in result.answers}
    print(f"{how:8} {result.samples.mean():6,.0f} plays, answers {answers}")
